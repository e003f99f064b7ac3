import { expect, test } from "bun:test";
import fc from "fast-check";
import { TarParser } from "../../../../src/image/archive/tar-parser.ts";
import { endOfArchive } from "../../../../src/image/archive/tar-writer.ts";
import { entryHeader, type LocalEntry } from "../../../../src/cli/stream/tar-entries.ts";

const name = fc
  .string({ unit: fc.constantFrom("a", "ü", "-", " ", "/"), minLength: 1, maxLength: 300 })
  .map((text) => `x${text.replaceAll("/", "/y")}`);

test("what is written is read again, whatever the length of its name", () => {
  fc.assert(
    fc.property(name, name, fc.constantFrom("Directory", "SymLink", "File"), (path, link, type) => {
      const entry = {
        type: type as LocalEntry["type"],
        path,
        mode: 0o100_755,
        size: 0,
        modified: 1_700_000_000.5,
        link: type === "SymLink" ? link : "",
      };
      const parser = new TarParser();
      const events = parser.push(Buffer.concat([entryHeader(entry), endOfArchive()]));
      parser.finish();
      const written = { type, path: type === "Directory" ? `${path}/` : path, link: entry.link };
      expect(events[0]).toMatchObject({ type: "Entry", entry: written });
    }),
  );
});

test("a file of more than 8 GiB keeps its size", () => {
  const size = 20 * 1024 ** 3;
  const entry = { type: "File", path: "a", mode: 0o644, size, modified: 0, link: "" } as const;
  expect(new TarParser().push(entryHeader(entry))[0]).toMatchObject({ entry: { size } });
});
