// Performs: removes a file so that its file system does not give its bytes back: they are overwritten first.

import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { AgentError, messageOf } from "../../lib/errors.ts";
import { syncPath } from "../../lib/files/system-durable-file.ts";

const { O_NOFOLLOW, O_WRONLY } = constants;
const CHUNK = Buffer.alloc(65_536);

/** What a flash memory keeps behind its own mapping stays out of reach. Throws AgentError `FileError`. */
export function eraseFile(path: string): void {
  try {
    overwrite(path);
    unlinkSync(path);
    syncPath(dirname(path));
  } catch (cause) {
    const message = `cannot erase ${path}: ${messageOf(cause)}`;
    throw new AgentError({ reason: "FileError", message, cause });
  }
}

function overwrite(path: string): void {
  const fd = openSync(path, O_WRONLY | O_NOFOLLOW);
  try {
    const { size } = fstatSync(fd);
    for (let at = 0; at < size;)
      at += writeSync(fd, CHUNK, 0, Math.min(CHUNK.length, size - at), at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
