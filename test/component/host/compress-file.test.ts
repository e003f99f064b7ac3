import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { compressFile } from "../../../src/host/tree/compress-file.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();
const never = new AbortController().signal;

test("a file is compressed as it is, with its mode, beside the original", async () => {
  const directory = newDirectory();
  const [from, to] = [join(directory, "a"), join(directory, "a.gz")];
  const text = Array.from({ length: 30_000 }, (_, n) => `line ${n} of a log`).join("\n");
  writeFileSync(from, text);
  chmodSync(from, 0o640);
  await compressFile(from, to, never);
  expect(gunzipSync(readFileSync(to)).toString()).toBe(text);
  expect(statSync(to).size).toBeLessThan(text.length / 4);
  expect(statSync(to).mode & 0o777).toBe(0o640);
  expect(readdirSync(directory).toSorted()).toEqual(["a", "a.gz"]);
});

test("what cannot be compressed leaves nothing and names the file", async () => {
  const directory = newDirectory();
  const missing = join(directory, "a");
  expect(compressFile(missing, `${missing}.gz`, never)).rejects.toThrow(
    `cannot compress ${missing}`,
  );
  const from = join(directory, "b");
  writeFileSync(from, randomBytes(4 * 1024 * 1024));
  const stop = new AbortController();
  const compressing = compressFile(from, `${from}.gz`, stop.signal);
  stop.abort();
  expect(compressing).rejects.toThrow("cannot compress");
  await compressing.catch(() => undefined);
  expect(readdirSync(directory)).toEqual(["b"]);
});
