import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants, gzipSync, zstdCompressSync } from "node:zlib";
import { archiveBytes } from "../../../src/containerd/archive/archive-bytes.ts";
import { isInvalidArchive } from "../../../src/image/archive/archive-error.ts";

const directory = mkdtempSync(join(tmpdir(), "archive-bytes-"));
afterAll(() => rmSync(directory, { recursive: true }));

const PLAIN = Buffer.alloc(3_000_000, "an image archive, ");

/** A frame that decompresses to nothing. */
const SIZE = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]);

async function read(bytes: Uint8Array, signal = new AbortController().signal): Promise<Buffer> {
  const path = join(directory, "archive");
  writeFileSync(path, bytes);
  const parts: Uint8Array[] = [];
  for await (const chunk of archiveBytes(path, signal)) parts.push(new Uint8Array(chunk));
  return Buffer.concat(parts);
}

function cut(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.length / 2);
}

describe("archiveBytes", () => {
  test.each([
    ["plain", PLAIN],
    ["gzip", gzipSync(PLAIN)],
    [
      "gzip of several members",
      Buffer.concat([gzipSync(PLAIN.subarray(0, 999)), gzipSync(PLAIN.subarray(999))]),
    ],
    ["zstd", zstdCompressSync(PLAIN)],
    [
      "zstd of pzstd, with frames that carry only a size",
      Buffer.concat([
        SIZE,
        zstdCompressSync(PLAIN.subarray(0, 999)),
        SIZE,
        zstdCompressSync(PLAIN.subarray(999)),
      ]),
    ],
    ["nothing", new Uint8Array()],
  ])("reads %s", async (what, bytes) => {
    expect((await read(bytes)).equals(what === "nothing" ? Buffer.alloc(0) : PLAIN)).toBe(true);
  });

  const noise = Buffer.from(
    Array.from({ length: 300_000 }, (_, index) => (index * index * 7) % 251),
  );
  const damaged = gzipSync(noise);
  damaged.fill(0xff, 2000, 2100);
  const window = {
    params: { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_contentSizeFlag]: 0 },
  };
  test.each([
    ["damaged", damaged, "cannot be decompressed"],
    ["cut", cut(gzipSync(noise)), "cannot be decompressed"],
    [
      "made for machines with much memory",
      zstdCompressSync(Buffer.alloc(200_000_000), window),
      "too much memory",
    ],
  ])("refuses what is %s", async (_what, bytes, message) => {
    const error = await read(bytes).catch((thrown: unknown) => thrown);
    expect(isInvalidArchive(error)).toBe(true);
    expect(String(error)).toContain(message);
  });

  test("ends when it is aborted, and rejects for a missing file", async () => {
    const stop = new AbortController();
    stop.abort();
    expect(await read(PLAIN, stop.signal).catch(String)).toContain("Abort");
    const missing = archiveBytes(join(directory, "missing"), new AbortController().signal);
    expect(await Array.fromAsync(missing).catch(String)).toContain("ENOENT");
  });
});
