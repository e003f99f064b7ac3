import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { realMounts } from "../../../src/host/mounts.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { AtomicDirectory, type AtomicContent } from "../../../src/volume/atomic-directory.ts";
import { temporaryDirectories } from "../host/temporary-directories.ts";
import { Crash, crashingEdges, textOf } from "./crashing.ts";

const newDirectory = temporaryDirectories();
const files = realFiles();
const mounts = realMounts();

function content(texts: Record<string, string>, more: Partial<AtomicContent> = {}): AtomicContent {
  const bytes = Object.entries(texts).map(
    ([path, text]) => [path, { bytes: new TextEncoder().encode(text), mode: 0o644 }] as const,
  );
  return { files: new Map(bytes), directories: [], ...more };
}

function setUp(): { root: string; directory: AtomicDirectory } {
  const root = newDirectory();
  return { root, directory: new AtomicDirectory(files, root) };
}

/** Every file that a reader finds by its name in the volume. */
function visible(root: string, below = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(root, below))) {
    if (below === "" && name.startsWith("..")) continue;
    const path = join(below, name);
    if (statSync(join(root, path)).isDirectory()) Object.assign(found, visible(root, path));
    else found[path] = readFileSync(join(root, path), "utf8");
  }
  return found;
}

function listing(root: string): string[] {
  return readdirSync(root).map((name) => {
    const path = join(root, name);
    return lstatSync(path).isSymbolicLink() ? `${name} -> ${readlinkSync(path)}` : name;
  });
}

describe("an atomic directory", () => {
  test("shows files through ..data, as the kubelet does", () => {
    const { root, directory } = setUp();
    expect(directory.isWritten).toBe(false);
    expect(directory.write(content({ a: "1", "d/e/f": "2", "d/g": "3" }))).toBe(true);
    expect(directory.isWritten).toBe(true);
    expect(listing(root).toSorted()).toEqual([
      "..1",
      "..data -> ..1",
      "a -> ..data/a",
      "d -> ..data/d",
    ]);
    expect(visible(root)).toEqual({ a: "1", "d/e/f": "2", "d/g": "3" });
  });

  test("writes nothing when nothing has changed", () => {
    const { root, directory } = setUp();
    directory.write(content({ a: "1", "d/e": "2" }));
    const edges = crashingEdges({ files, mounts }, { at: 0, halfway: false });
    expect(new AtomicDirectory(edges.files, root).write(content({ a: "1", "d/e": "2" }))).toBe(
      false,
    );
    expect(edges.died()).toBe(false);
  });

  test("replaces all of it in one step and removes what is no more", () => {
    const { root, directory } = setUp();
    directory.write(content({ a: "1", b: "2", "d/e": "3" }));
    expect(directory.write(content({ a: "1", c: "4" }))).toBe(true);
    expect(listing(root).toSorted()).toEqual([
      "..2",
      "..data -> ..2",
      "a -> ..data/a",
      "c -> ..data/c",
    ]);
  });

  test.each<readonly [string, (root: string) => void, Record<string, string>]>([
    ["another text of the same length", () => undefined, { a: "2" }],
    ["a file in place of a directory", () => undefined, { a: "1", d: "x" }],
    ["a directory in place of a file", () => undefined, { "a/b": "1" }],
    [
      "a torn file, as after a power cut",
      (root) => writeFileSync(join(root, "..1/a"), ""),
      { a: "1" },
    ],
    ["a lost version", (root) => files.removeTree(join(root, "..1")), { a: "1" }],
    ["nothing at all", () => undefined, {}],
  ])("brings %s right", (_, damage, wanted) => {
    const { root, directory } = setUp();
    directory.write(content({ a: "1", "d/e": "3" }));
    damage(root);
    expect(directory.write(content(wanted))).toBe(true);
    expect(visible(root)).toEqual(wanted);
    expect(directory.write(content(wanted))).toBe(false);
  });

  test("gives files their modes whatever the umask, and notices one that is wrong", () => {
    const { root, directory } = setUp();
    const secret = { bytes: new Uint8Array([1]), mode: 0o400 };
    const wanted = {
      files: new Map([
        ["s", secret],
        ["t", { ...secret, mode: 0o666 }],
      ]),
      directories: [],
    };
    directory.write(wanted);
    expect([
      statSync(join(root, "s")).mode & 0o7777,
      statSync(join(root, "t")).mode & 0o7777,
    ]).toEqual([0o400, 0o666]);
    const other = {
      ...wanted,
      files: new Map([...wanted.files, ["s", { ...secret, mode: 0o440 }]]),
    };
    expect(directory.write(other)).toBe(true);
    expect(statSync(join(root, "s")).mode & 0o7777).toBe(0o440);
  });

  test("gives all of it to the group, which may read", () => {
    const { root, directory } = setUp();
    const wanted = content({ "d/a": "1" }, { group: 4242 });
    const file = { bytes: new Uint8Array([1]), mode: 0o400 };
    directory.write({ ...wanted, files: new Map([["d/a", file]]) });
    const stats = ["d/a", "d", "..data/"].map((path) => statSync(join(root, path)));
    expect(stats.map(({ gid }) => gid)).toEqual([4242, 4242, 4242]);
    expect(stats.map(({ mode }) => mode & 0o7777)).toEqual([0o440, 0o2755, 0o2755]);
    expect(directory.write({ ...wanted, files: new Map([["d/a", file]]) })).toBe(false);
  });

  test("makes the directories that something else gets mounted on", () => {
    const { root, directory } = setUp();
    const directories = ["certs", "d/nested/deep", "a"];
    directory.write(content({ a: "1", "d/e": "2" }, { directories }));
    expect(statSync(join(root, "certs")).isDirectory()).toBe(true);
    expect(statSync(join(root, "d/nested/deep")).isDirectory()).toBe(true);
    directory.write(content({ a: "3", "d/e": "2" }, { directories }));
    expect(statSync(join(root, "d/nested/deep")).isDirectory()).toBe(true);
    expect(listing(root).toSorted()).toEqual([
      "..2",
      "..data -> ..2",
      "a -> ..data/a",
      "certs",
      "d -> ..data/d",
    ]);
  });
});

const name = fc.constantFrom("a", "b", "c", "long-name.conf");
const path = fc.oneof(
  name,
  fc.tuple(fc.constantFrom("d", "e"), name).map((parts) => parts.join("/")),
);
const texts = fc.dictionary(path, fc.string({ maxLength: 8, unit: "grapheme-ascii" }), {
  maxKeys: 5,
});

describe("whatever is written one after the other", () => {
  test("the last is there, and only that", () => {
    fc.assert(
      fc.property(fc.array(texts, { minLength: 1, maxLength: 5 }), (versions) => {
        const { root, directory } = setUp();
        for (const version of versions) directory.write(content(version));
        expect(visible(root)).toEqual(versions.at(-1) ?? {});
        expect(readdirSync(root).filter((entry) => /^\.\.[0-9]/.test(entry))).toHaveLength(1);
      }),
      { numRuns: 60 },
    );
  }, 20_000);

  test("a crash anywhere leaves the old or the new as a whole, and the next write brings the new", () => {
    fc.assert(
      fc.property(texts, texts, fc.boolean(), (old, wanted, halfway) => {
        for (let at = 0; ; at += 1) {
          const { root, directory } = setUp();
          directory.write(content(old));
          const edges = crashingEdges({ files, mounts }, { at, halfway });
          const dying = new AtomicDirectory(edges.files, root);
          if (endsWell(() => dying.write(content(wanted)))) return;
          const seen = visible(join(root, "..data"));
          expect([old, wanted]).toContainEqual(seen);
          // By their own names nothing else is to be seen either.
          for (const shown of new Set([...Object.keys(old), ...Object.keys(wanted)]))
            expect([seen[shown], undefined]).toContain(textOf(join(root, shown)));
          directory.write(content(wanted));
          expect(visible(root)).toEqual(wanted);
          expect(readdirSync(root).filter((entry) => /^\.\.[0-9]/.test(entry))).toHaveLength(1);
        }
      }),
      { numRuns: 10 },
    );
  }, 20_000);
});

function endsWell(run: () => unknown): boolean {
  try {
    run();
    return true;
  } catch (error) {
    if (error instanceof Crash) return false;
    throw error;
  }
}

test("a directory that was there is used as it is", () => {
  const { root, directory } = setUp();
  mkdirSync(join(root, "lost+found"));
  directory.write(content({ a: "1" }));
  expect(readdirSync(root)).toContain("lost+found");
});
