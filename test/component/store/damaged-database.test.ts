import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import Sqlite from "better-sqlite3";
import fc from "fast-check";
import { reasonOf } from "../../../src/lib/errors.ts";
import { realMounts } from "../../../src/host/mounts.ts";
import { openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();

/** A closed database with some rows in it. */
function filled(textLength = 300): { readonly stateDir: string; readonly path: string } {
  const stateDir = newDirectory();
  using store = openStore(stateDir);
  const put = Array.from({ length: 200 }, (_, n) => ({
    path: `/m/${n}.yaml`,
    document: 0,
    kind: "Pod" as const,
    namespace: "default",
    name: `pod-${n}`,
    text: "x".repeat(textLength),
  }));
  store.lastGood.save({ put, removed: [] });
  return { stateDir, path: join(stateDir, "agent.db") };
}

function foreign(path: string): void {
  rmSync(path);
  const sqlite = new Sqlite(path);
  sqlite.exec("CREATE TABLE theirs (a)");
  sqlite.close();
}

function withoutTable(path: string): void {
  const sqlite = new Sqlite(path);
  sqlite.exec("DROP TABLE outbox");
  sqlite.close();
}

function garbageInside(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(0x5a, 4096);
  writeFileSync(path, bytes);
}

const damages: readonly [string, (path: string) => void][] = [
  ["garbage from end to end", (path) => writeFileSync(path, "garbage".repeat(9999))],
  ["a short text", (path) => writeFileSync(path, "hello")],
  ["garbage behind the first page", garbageInside],
  ["a file cut in the middle of a page", (path) => truncateSync(path, 10_000)],
  ["the database of another program", foreign],
  ["a missing table", withoutTable],
  ["a directory", (path) => (rmSync(path), mkdirSync(path))],
];

describe("a damaged database", () => {
  test.each(damages)("is set aside and rebuilt: %s", (_, damage) => {
    const { stateDir, path } = filled();
    damage(path);
    {
      using store = openStore(stateDir);
      expect(store.origin).toBe("recovered");
      expect(store.recovered?.movedTo).toBe(`${path}.corrupt-1`);
      expect(store.recovered?.reason).not.toBe("");
      expect(store.lastGood.load().copies).toEqual([]);
      store.meta.set("works", "yes");
    }
    expect(existsSync(`${path}.corrupt-1`)).toBe(true);
    using store = openStore(stateDir);
    expect(store.origin).toBe("opened");
    expect(store.meta.get("works")).toBe("yes");
  });

  test("a file emptied by a power cut is a new database", () => {
    const { stateDir, path } = filled();
    writeFileSync(path, "");
    using store = openStore(stateDir);
    expect(store.origin).toBe("created");
  });

  test("only the newest two are kept", () => {
    const { stateDir, path } = filled();
    for (let n = 1; n <= 4; n += 1) {
      writeFileSync(path, "garbage".repeat(1000));
      openStore(stateDir)[Symbol.dispose]();
    }
    const names = readdirSync(stateDir).filter((name) => name.includes("corrupt"));
    expect(names.toSorted()).toEqual(["agent.db.corrupt-3", "agent.db.corrupt-4"]);
  });

  test("whatever bytes are wrong, the store opens and can be written", () => {
    const { stateDir, path } = filled();
    const whole = readFileSync(path);
    const spot = fc.record({
      at: fc.oneof(fc.nat(100), fc.nat(whole.length - 1)),
      value: fc.nat(255),
    });
    fc.assert(
      fc.property(fc.array(spot, { minLength: 1, maxLength: 20 }), (spots) => {
        const bytes = Buffer.from(whole);
        for (const { at, value } of spots) bytes[at] = value;
        writeFileSync(path, bytes);
        using store = openStore(stateDir);
        store.meta.set("works", "yes");
        expect(store.meta.get("works")).toBe("yes");
      }),
      {
        numRuns: 60,
        examples: [
          [
            [
              { at: 3216, value: 65 },
              { at: 24, value: 0 },
            ],
          ],
          [[{ at: 18, value: 3 }]],
          [[{ at: 19, value: 3 }]],
        ],
      },
    );
  });

  test("damage that appears while running is an error, and the next start sets the file aside", () => {
    // More than SQLite keeps in memory.
    const { stateDir, path } = filled(50_000);
    {
      using store = openStore(stateDir);
      garbageInside(path);
      expect(
        reasonOf(
          thrownBy(() => store.lastGood.load()),
          "",
        ),
      ).toBe("DatabaseCorrupt");
    }
    using store = openStore(stateDir);
    expect(store.recovered?.reason).toBe("damage was detected while it was in use");
    expect(existsSync(`${path}.suspect`)).toBe(false);
  });
});

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

test("a database of a newer agent is opened and keeps its version", () => {
  const { stateDir, path } = filled();
  const newer = new Sqlite(path);
  newer.exec("ALTER TABLE removal ADD COLUMN extra TEXT NOT NULL DEFAULT 'new'");
  newer.exec("CREATE TABLE later (a)");
  newer.pragma("user_version = 99");
  newer.close();
  {
    using store = openStore(stateDir);
    expect(store.origin).toBe("opened");
    expect(store.lastGood.load().copies).toHaveLength(200);
    store.removals.begin([{ uid: "a", namespace: "n", name: "a", why: "Deleted" }]);
  }
  const after = new Sqlite(path);
  expect(after.pragma("user_version", { simple: true })).toBe(99);
  after.close();
});

test("a full disk is an error with a way out; the reserve carries the removals through", () => {
  const stateDir = newDirectory();
  const mounts = realMounts();
  mounts.tmpfs(stateDir, { sizeBytes: 4 * 1024 * 1024, mode: 0o700 });
  try {
    using store = openStore(stateDir);
    const reserve = join(stateDir, "agent.db.reserve");
    fillUp(join(stateDir, "filler"));
    const rows = Array.from({ length: 40 }, (_, n) => ({
      uid: `uid-${n}`,
      namespace: "default",
      name: "x".repeat(200),
      why: "Deleted" as const,
    }));
    expect(existsSync(reserve)).toBe(true);
    store.removals.begin(rows);
    expect(existsSync(reserve)).toBe(false);
    expect(store.removals.all()).toHaveLength(40);

    const tooMuch = {
      path: "/m",
      document: 0,
      kind: "Pod" as const,
      namespace: "n",
      name: "a",
      text: "x".repeat(900_000),
    };
    const save = (): void => store.lastGood.save({ put: [tooMuch], removed: [] });
    expect(save).toThrow(expect.objectContaining({ reason: "DatabaseFull" }));
    expect(store.lastGood.load().copies).toEqual([]);
    rmSync(join(stateDir, "filler"));
    save();
    expect(store.lastGood.load().copies).toHaveLength(1);
  } finally {
    mounts.unmount(stateDir);
  }
});

function fillUp(path: string): void {
  for (const size of [65536, 4096]) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size, 1), { flag: "a" });
    } catch {
      // Full: smaller pieces next.
    }
  }
}

describe("SQLite's addon", () => {
  const addons = (stateDir: string): readonly string[] => readdirSync(join(stateDir, "lib"));

  test("lies in stateDir under its own sum, for root only", () => {
    const stateDir = newDirectory();
    openStore(stateDir)[Symbol.dispose]();
    expect(addons(stateDir)).toEqual([
      expect.stringMatching(/^better-sqlite3-[0-9a-f]{64}\.node$/),
    ]);
    expect(statSync(join(stateDir, "lib")).mode & 0o777).toBe(0o700);
  });

  test.each([
    ["torn", (path: string) => truncateSync(path, 1000)],
    ["of the right size and wrong content", garbageInside],
    ["replaced by a link", (path: string) => (rmSync(path), symlinkSync("/bin/true", path))],
  ])("is written anew when it is %s, and other versions go", (_, spoil) => {
    const stateDir = newDirectory();
    openStore(stateDir)[Symbol.dispose]();
    const [name = ""] = addons(stateDir);
    const path = join(stateDir, "lib", name);
    const whole = readFileSync(path);
    // A mapped file must not be cut under the process that runs it.
    const copy = readFileSync(path);
    rmSync(path);
    writeFileSync(path, copy);
    spoil(path);
    writeFileSync(join(stateDir, "lib", "better-sqlite3-0000.node"), "old");
    openStore(stateDir)[Symbol.dispose]();
    expect(addons(stateDir)).toEqual([name]);
    expect(readFileSync(path).equals(whole)).toBe(true);
  });

  test("that cannot be loaded is said with its path", () => {
    const stateDir = newDirectory();
    const path = join(stateDir, "broken.node");
    writeFileSync(path, "not a library");
    const open = (): unknown => openStore(stateDir, { nativeBinding: path });
    expect(open).toThrow(expect.objectContaining({ reason: "SqliteAddonUnusable" }));
    expect(open).toThrow(path);
    expect(dirname(fileURLToPath(import.meta.url))).not.toBe(stateDir);
  });
});
