import { expect, test } from "bun:test";
import {
  archiveOf,
  EMPTY,
  MAX_BUNDLE_BYTES,
  MAX_FILE_BYTES,
  readme,
  withFile,
  type Bundle,
} from "../../../src/cli/support/bundle.ts";

const file = (name: string) =>
  ({ name, from: "a|test", content: { type: "Text", text: "" } }) as const;
const HEAD = { title: "t", version: "1", time: "2026-01-01T00:00:00Z", withLogs: false };

test("a file that is too large keeps its end, from the beginning of a line", () => {
  const line = `${"x".repeat(99)}\n`;
  const text = `secret-at-the-cut${line.repeat(MAX_FILE_BYTES / 100 + 1)}last\n`;
  const [{ bytes, note } = { bytes: new Uint8Array(), note: "" }] = withFile(
    EMPTY,
    file("a"),
    text,
  ).files;
  expect(bytes.length).toBeLessThanOrEqual(MAX_FILE_BYTES);
  const kept = new TextDecoder().decode(bytes);
  expect([kept.startsWith(line), kept.endsWith("last\n")]).toEqual([true, true]);
  expect(note).toBe(`the first ${text.length - bytes.length} bytes are left out`);
});

test("all files together are bounded, and what has no place is listed", () => {
  const text = "x\n".repeat(MAX_FILE_BYTES / 2);
  let bundle: Bundle = EMPTY;
  for (let index = 0; index < 20; index += 1) bundle = withFile(bundle, file(`f${index}`), text);
  const sizes = bundle.files.map(({ bytes }) => bytes.length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MAX_BUNDLE_BYTES);
  expect(bundle.files.length + bundle.leftOut.length).toBe(20);
  expect(bundle.leftOut.length).toBe(4);
  const listed = readme(bundle, HEAD);
  expect(listed).toContain(`| f19 | the bundle has its ${MAX_BUNDLE_BYTES} bytes |`);
  expect(listed).toContain(String.raw`| a\|test |`);
});

test("tar reads the archive, with files for their owner only", () => {
  const bundle = withFile(EMPTY, file(`deep/${"n".repeat(150)}.txt`), "content\n");
  const archive = archiveOf(bundle, "title", 0);
  const { stdout } = Bun.spawnSync(["tar", "-tvf", "-"], { stdin: archive });
  expect(stdout.toString()).toMatch(/^-rw------- .* 8 .* title\/deep\/n{150}\.txt\n$/);
});
