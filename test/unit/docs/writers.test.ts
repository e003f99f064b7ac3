// The law durable-writes: every module that can write a file stands in the table of docs/power-and-flash.md, with how it
// writes or why a power cut may take what it wrote. Any other one uses `Files.writeAtomic`, or the helper beneath it.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dir, "../../..");

const FS = String.raw`["'](?:node:)?fs(?:\/promises)?["']`;
/** Of node:fs: what changes content or names. `open` with promises gives a handle that can write. */
const WRITING =
  /^(?:(?:write|writev|writeFile|appendFile|rename|copyFile|cp|link|symlink|truncate|ftruncate)(?:Sync)?|createWriteStream|open)$/;
/** Methods of `Files` that do not wait for the disk. */
const LAZY = /\.(writeLazily|writeInPlace|rename|makeLink)\(/g;
const BUN = /\bBun\.(write\(|file\([^)]*\)\.(?:writer|write)\()/g;

/** The words with which a module can write, without those that are always durable. */
function writingWords(text: string): readonly string[] {
  const code = text.replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, "");
  const imports = [...code.matchAll(new RegExp(`import\\s+([^;]*?)\\s+from\\s+${FS}`, "g"))];
  const words = imports.flatMap(([whole, what = ""]) => {
    if (!what.startsWith("{")) return /^type\b/.test(what) ? [] : ["all of node:fs"];
    const opens = whole.includes("promises") ? WRITING : /^(?!open$)/;
    return what
      .replaceAll(/[{}]/g, "")
      .split(",")
      .map((name) => name.trim().replace(/ as .*/, ""))
      .filter((name) => !name.startsWith("type ") && WRITING.test(name) && opens.test(name));
  });
  const others = [LAZY, BUN].flatMap((one) => [...code.matchAll(one)].map(([, word = ""]) => word));
  const dynamic = new RegExp(`(?:import|require|getBuiltinModule)\\s*\\(\\s*${FS}`).test(code);
  return [...words, ...others, ...(dynamic ? ["all of node:fs"] : [])];
}

interface Row {
  readonly file: string;
  readonly writes: string;
  readonly how: string;
}

function rows(): readonly Row[] {
  const page = readFileSync(join(ROOT, "docs/power-and-flash.md"), "utf8");
  return [...page.matchAll(/^\| `src\/([^`]+)` \| ([^|]+) \| ([^|]+) \|$/gm)].map(
    ([, file = "", writes = "", how = ""]) => ({ file, writes: writes.trim(), how: how.trim() }),
  );
}

const WRITERS = [...new Bun.Glob("**/*.ts").scanSync({ cwd: join(ROOT, "src") })]
  .filter((file) => !file.includes("/gen/"))
  .filter((file) => writingWords(readFileSync(join(ROOT, "src", file), "utf8")).length > 0)
  .toSorted();

describe("the table of writers", () => {
  test("names exactly the modules that can write", () => {
    expect(WRITERS).toEqual(
      rows()
        .map(({ file }) => file)
        .toSorted(),
    );
    expect(WRITERS.length).toBeGreaterThan(20);
  });

  test("says of each how it writes, or why a power cut may take it", () => {
    for (const { file, writes, how } of rows()) {
      const isSaid = /^(?:durable|not durable|no file): ./.test(how);
      expect([file, writes !== "", isSaid]).toEqual([file, true, true]);
    }
  });

  test("calls only those durable that wait for the disk", () => {
    for (const { file, how } of rows()) {
      const text = readFileSync(join(ROOT, "src", file), "utf8");
      if (how.startsWith("durable: "))
        expect([file, /sync|Durably|writeAtomic/i.test(text)]).toEqual([file, true]);
    }
  });
});

describe("the search for writers", () => {
  const cases: readonly (readonly [sentence: string, text: string, words: readonly string[]])[] = [
    [
      "finds a function of node:fs",
      'import { statSync, writeFileSync } from "node:fs";',
      ["writeFileSync"],
    ],
    [
      "finds one under another name",
      'import {\n  renameSync as move,\n} from "fs";',
      ["renameSync"],
    ],
    ["finds a handle", 'import { open } from "node:fs/promises";', ["open"]],
    [
      "does not take a reader for one",
      'import { openSync, readSync, type Stats } from "node:fs";',
      [],
    ],
    ["finds the whole module", 'import * as fs from "node:fs";', ["all of node:fs"]],
    ["finds it when it is loaded later", 'await import("node:fs/promises");', ["all of node:fs"]],
    ["finds Bun.write", 'await Bun.write("a", "b");', ["write("]],
    ["finds lazy methods of Files", "files.writeLazily(path, bytes, 0o600);", ["writeLazily"]],
    ["lets writeAtomic be used everywhere", "files.writeAtomic(path, bytes, 0o600);", []],
    ["does not read comments", "// Bun.write(a)\n * files.rename(a)", []],
  ];

  test.each(cases)("%s", (_, text, words) => {
    expect(writingWords(text)).toEqual(words);
  });
});
