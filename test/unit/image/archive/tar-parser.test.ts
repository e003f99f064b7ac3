import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { entryPath, followLinks, linkTarget } from "../../../../src/image/archive/archive-paths.ts";
import {
  MAX_ENTRIES,
  MAX_EXTENDED_HEADER,
  TarParser,
  type TarEntry,
} from "../../../../src/image/archive/tar-parser.ts";
import { tar, type TarEntry as Written } from "../../../harness/tar.ts";

interface Parsed extends TarEntry {
  readonly data: string;
}

/** Entries with their content, from chunks that are overwritten as soon as they are parsed. */
function parse(chunks: readonly Uint8Array[]): readonly Parsed[] {
  const parser = new TarParser();
  const found: Parsed[] = [];
  let current: TarEntry | undefined;
  let parts: Uint8Array[] = [];
  for (const chunk of chunks) {
    const scratch = new Uint8Array(chunk);
    for (const event of parser.push(scratch)) {
      if (event.type === "Entry") current = event.entry;
      if (event.type === "Data") parts.push(new Uint8Array(event.data));
      if (event.type !== "End" || current === undefined) continue;
      found.push({ ...current, data: Buffer.concat(parts).toString("latin1") });
      parts = [];
    }
    scratch.fill(0xff);
  }
  parser.finish();
  return found;
}

function file(path: string, data: Uint8Array): Written {
  return { type: "file", path, mode: 0o644, data };
}

/** A header with fields that the writer of the harness does not have. */
function header(fields: {
  readonly path: string;
  readonly flag: string;
  readonly size?: string | Uint8Array;
  readonly prefix?: string;
}): Uint8Array {
  const block = Buffer.from(tar([file(fields.path, new Uint8Array())]).subarray(0, 512));
  block.write(fields.flag, 156);
  const { size = "0" } = fields;
  if (typeof size === "string") block.write(size.padStart(11, "0"), 124);
  else block.set(size, 124);
  if (fields.prefix !== undefined) block.write(fields.prefix, 345);
  block.write(" ".repeat(8), 148);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

function padded(text: string): Uint8Array {
  const block = Buffer.alloc(Math.ceil(text.length / 512) * 512);
  block.write(text);
  return block;
}

const END = new Uint8Array(1024);
const octal = (size: number): string => size.toString(8);

const NAME = fc.stringMatching(/^[a-z]{1,20}(?:\/[a-z]{1,20}){0,3}$/);
const ENTRY: fc.Arbitrary<Written> = fc.oneof(
  fc.record({
    type: fc.constant("file" as const),
    path: NAME,
    mode: fc.constant(0o644),
    data: fc.uint8Array({ maxLength: 2000 }),
  }),
  fc.record({ type: fc.constant("directory" as const), path: NAME, mode: fc.constant(0o755) }),
  fc.record({ type: fc.constant("symlink" as const), path: NAME, target: NAME }),
);

describe("TarParser", () => {
  test("finds the same in chunks of any size as in the whole", () => {
    fc.assert(
      fc.property(
        fc.array(ENTRY, { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1, maxLength: 30 }),
        (entries, sizes) => {
          const archive = tar(entries);
          const chunks: Uint8Array[] = [];
          for (let offset = 0, turn = 0; offset < archive.length; turn += 1) {
            const size = sizes[turn % sizes.length]!;
            chunks.push(archive.subarray(offset, offset + size));
            offset += size;
          }
          const whole = parse([archive]);
          expect(parse(chunks)).toEqual([...whole]);
          expect(whole.map(({ data }) => data)).toEqual(
            entries.map((one) =>
              one.type === "file" ? Buffer.from(one.data).toString("latin1") : "",
            ),
          );
        },
      ),
    );
  });

  test("refuses every archive that is cut before its end", () => {
    const archive = tar([file("a", Buffer.from("x".repeat(700))), file("b", Buffer.from("y"))]);
    const content = archive.length - END.length;
    fc.assert(
      fc.property(fc.integer({ min: 0, max: content }), (length) => {
        expect(() => parse([archive.subarray(0, length)])).toThrow("it ends early");
      }),
    );
  });

  test.each([
    [
      "a long name of GNU tar",
      [header({ path: "x", flag: "L", size: octal(151) }), padded("d/".repeat(75))],
    ],
    [
      "a long name of POSIX tar",
      [header({ path: "x", flag: "x", size: octal(160) }), padded(`160 path=${"d/".repeat(75)}\n`)],
    ],
  ])("reads %s", (_what, before) => {
    const [entry] = parse([...before, header({ path: "short", flag: "0" }), END]);
    expect(entry?.path).toBe("d/".repeat(75));
  });

  test("joins the prefix of a ustar header", () => {
    const [entry] = parse([header({ path: "name", flag: "0", prefix: "a/b" }), END]);
    expect(entry?.path).toBe("a/b/name");
  });

  test("reads a size that is written in binary", () => {
    const size = new Uint8Array(12);
    size[0] = 0x80;
    size[11] = 5;
    const [entry] = parse([header({ path: "a", flag: "0", size }), padded("hello"), END]);
    expect(entry).toMatchObject({ size: 5, data: "hello" });
  });

  test.each([
    ["no tar archive", [Buffer.alloc(512, 0x37)], "checksum"],
    ["a device", [header({ path: "a", flag: "3" }), END], "which no image needs"],
    [
      "an impossible size",
      [header({ path: "a", flag: "0", size: new Uint8Array(12).fill(255) })],
      "impossible size",
    ],
    [
      "a huge extended header",
      [header({ path: "a", flag: "x", size: octal(MAX_EXTENDED_HEADER + 1) })],
      "extended header",
    ],
    [
      "a damaged extended header",
      [header({ path: "a", flag: "x", size: octal(10) }), padded("99 path=a\n")],
      "extended header is damaged",
    ],
    ["an entry without a name", [header({ path: "\0", flag: "0" })], "no name"],
  ])("refuses %s", (_what, blocks, message) => {
    expect(() => parse(blocks)).toThrow(message);
  });

  test("refuses an endless list of entries", () => {
    const one = header({ path: "a", flag: "0" });
    const many = Buffer.concat(Array.from({ length: MAX_ENTRIES + 1 }, () => one));
    expect(() => parse([many])).toThrow("more than 20000 entries");
  });

  test("ignores what follows the end", () => {
    expect(parse([tar([file("a", new Uint8Array(1))]), Buffer.alloc(999, 0x41)])).toHaveLength(1);
  });
});

describe("names inside an archive", () => {
  test.each([
    ["./a//b/", "a/b"],
    ["a/../b", "b"],
    ["", ""],
  ])("%j is %j", (written, path) => expect(entryPath(written)).toBe(path));

  test.each(["/etc/passwd", "../a", "a/../../b", "a\0b"])("%j is refused", (written) =>
    expect(() => entryPath(written)).toThrow("leads out of it"),
  );

  test("links lead through their directory, and not out of the archive", () => {
    const link = { type: "SymLink", path: "a/layer.tar" } as const;
    expect(linkTarget(link, "../b/layer.tar")).toBe("b/layer.tar");
    expect(linkTarget({ ...link, type: "HardLink" }, "b/layer.tar")).toBe("b/layer.tar");
    expect(() => linkTarget(link, "../../b")).toThrow("leads out of it");
    expect(() => linkTarget(link, "/etc/passwd")).toThrow("leads out of it");
    const links = new Map([
      ["a", "b"],
      ["b", "c"],
      ["x", "y"],
      ["y", "x"],
    ]);
    expect(followLinks("a", links)).toBe("c");
    expect(() => followLinks("x", links)).toThrow("leads nowhere");
  });
});
