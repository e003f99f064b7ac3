// Performs: reads an image archive from a file or standard input, plain or compressed, as a stream of its uncompressed bytes.

import { createReadStream } from "node:fs";
import { pipeline, type Readable } from "node:stream";
import { constants, createGunzip, createZstdDecompress } from "node:zlib";
import { errorCode, messageOf } from "../../lib/errors.ts";
import type { ReadArchive } from "./image-store.ts";
import { damagedArchive } from "./damaged-archive.ts";

const CHUNK_BYTES = 128 * 1024;
/** Each chunk is copied several times on its way: left alone, the copies make the heap grow by tens of MiB. */
const COLLECT_BYTES = 16 * 1024 * 1024;
/** What zstd needs for its levels up to 19. */
const MAX_ZSTD_MEMORY = 8 * 1024 * 1024;
const STANDARD_INPUT = 0;

/** "-" = standard input. Rejects with AgentError `DamagedArchive`, or with the system's error of the file. */
export const archiveBytes: ReadArchive = async function* archiveBytes(
  path: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const source: Readable =
    path === "-"
      ? createReadStream("", { fd: STANDARD_INPUT, highWaterMark: CHUNK_BYTES, autoClose: false })
      : createReadStream(path, { highWaterMark: CHUNK_BYTES });
  const chunks = source[Symbol.asyncIterator]();
  try {
    const first = await nextOf(chunks);
    if (first === undefined) return;
    let uncollected = 0;
    for await (const chunk of decompressed(first, chunks, signal)) {
      yield chunk;
      uncollected += chunk.length;
      if (uncollected < COLLECT_BYTES) continue;
      uncollected = 0;
      Bun.gc(true);
      Bun.shrink();
    }
  } finally {
    source.destroy();
  }
};

type Chunks = AsyncIterator<unknown>;

async function nextOf(chunks: Chunks): Promise<Uint8Array | undefined> {
  const next = await chunks.next();
  if (next.done === true || !(next.value instanceof Uint8Array)) return undefined;
  return next.value;
}

async function* all(first: Uint8Array, rest: Chunks): AsyncGenerator<Uint8Array, void> {
  for (let chunk: Uint8Array | undefined = first; chunk !== undefined; chunk = await nextOf(rest))
    yield chunk;
}

async function* decompressed(
  first: Uint8Array,
  rest: Chunks,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const stream = decompressor(first);
  if (stream === undefined) {
    for await (const chunk of all(first, rest)) {
      signal.throwIfAborted();
      yield chunk;
    }
    return;
  }
  // The iteration below throws the error of either side.
  pipeline(all(first, rest), stream, () => undefined);
  try {
    for await (const chunk of stream) {
      signal.throwIfAborted();
      if (chunk instanceof Uint8Array) yield chunk;
    }
  } catch (thrown) {
    if (!/^(?:Z_|ZSTD_)/.test(errorCode(thrown))) throw thrown;
    throw damagedArchive(
      errorCode(thrown).includes("windowTooLarge")
        ? "it needs too much memory to decompress: compress it with zstd -19 or less, without --long"
        : `it cannot be decompressed (${messageOf(thrown)}): copy it again`,
      thrown,
    );
  } finally {
    stream.destroy();
  }
}

/** By the first bytes; undefined = it is not compressed. */
function decompressor([a, b, c, d]: Uint8Array): (Readable & NodeJS.WritableStream) | undefined {
  if (a === 0x1f && b === 0x8b) return createGunzip({ chunkSize: CHUNK_BYTES });
  const isFrame = a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd;
  // pzstd begins with a frame that only says how long the next one is.
  const isSkippable = a !== undefined && a >> 4 === 5 && b === 0x2a && c === 0x4d && d === 0x18;
  if (!isFrame && !isSkippable) return undefined;
  const params = { [constants.ZSTD_d_windowLogMax]: Math.log2(MAX_ZSTD_MEMORY) };
  return createZstdDecompress({ chunkSize: CHUNK_BYTES, params });
}
