// Compresses at once, and through `Files`: it dies with its process, and finds the disk full as any other write does.

import { gunzipSync, gzipSync } from "node:zlib";
import type { CompressFile } from "../../src/host/tree/compress-file.ts";
import type { Files } from "../../src/host/files.ts";

const MOST = 64 * 1024 * 1024;

export function fakeCompress(files: Pick<Files, "read" | "writeAtomic">): CompressFile {
  return async (from, to) => {
    await Promise.resolve();
    files.writeAtomic(to, gzipSync(files.read(from, MOST), { level: 1 }), 0o640);
  };
}

export function decompressed(bytes: Uint8Array): string {
  return gunzipSync(bytes).toString();
}
