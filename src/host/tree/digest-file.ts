// Performs: the digest of a file of any size, as it is on the disk: with one small buffer, and past the page cache.

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { dropCached } from "../libc.ts";

const BUFFER_BYTES = 256 * 1024;
/** What was read is dropped again so often: a check must not push the pods' files out of memory. */
const DROP_BYTES = 16 * 1024 * 1024;
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

export interface FileDigest {
  /** Hexadecimal. */
  readonly sha256: string;
  readonly size: number;
}

/** `onBytes` is called with the bytes of each part. Rejects with the file's error. */
export async function digestFile(
  path: string,
  {
    signal,
    onBytes = () => undefined,
  }: {
    readonly signal: AbortSignal;
    readonly onBytes?: (bytes: number) => void;
  },
): Promise<FileDigest> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  await using _ = { [Symbol.asyncDispose]: () => file.close() };
  if (!(await file.stat()).isFile()) throw new Error(`${path} is not a regular file`);
  dropCached(file.fd);
  const hash = createHash("sha256");
  const buffer = new Uint8Array(BUFFER_BYTES);
  let [size, sinceDrop] = [0, 0];
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, BUFFER_BYTES, size);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    size += bytesRead;
    sinceDrop += bytesRead;
    onBytes(bytesRead);
    if (sinceDrop < DROP_BYTES) continue;
    sinceDrop = 0;
    dropCached(file.fd);
  }
  dropCached(file.fd);
  return { sha256: hash.digest("hex"), size };
}
