import { totalChanges } from "../../fakes/in-the-store.ts";
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encodeTrust } from "../../../src/store/trust-file.ts";
import { files, openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";
import type { TrustRecord } from "../../../src/protocol/trust-bundle.ts";

const newDirectory = temporaryDirectories();
const bundle = (version: number): NonNullable<TrustRecord["bundle"]> => ({
  version,
  envelope: new TextEncoder().encode(`bundle ${version}`),
});
const NOTHING: TrustRecord = { required: false };
const REQUIRED: TrustRecord = { required: true };

let stateDir: string;
let path: string;

beforeEach(() => {
  stateDir = newDirectory();
  path = join(stateDir, "trust.json");
});

function write(record: TrustRecord): void {
  using store = openStore(stateDir);
  store.trust.write(record);
}

/** What a start finds, and what it says. */
function start(): { readonly record: TrustRecord; readonly trouble: string | undefined } {
  using store = openStore(stateDir);
  return { record: store.trust.read(), trouble: store.trust.trouble };
}

function loseDatabase(): void {
  for (const suffix of ["", "-wal", "-shm"])
    rmSync(join(stateDir, `agent.db${suffix}`), { force: true });
}

test("a fresh node requires nothing and writes nothing", () => {
  expect(start()).toEqual({ record: NOTHING, trouble: undefined });
  expect(existsSync(path)).toBe(false);
});

test("what was written is there after a restart, for root only", () => {
  const record = { required: true, bundle: bundle(3) };
  {
    using store = openStore(stateDir);
    store.trust.write(record);
    expect(store.trust.read()).toEqual(record);
  }
  expect(start()).toEqual({ record, trouble: undefined });
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("nothing is written while nothing changes", () => {
  write({ required: true, bundle: bundle(1) });
  const before = statSync(path).ino;
  using store = openStore(stateDir);
  const changes = totalChanges(store.database);
  store.trust.write({ required: true, bundle: bundle(1) });
  expect(totalChanges(store.database)).toBe(changes);
  expect(statSync(path).ino).toBe(before);
});

describe("forgets nothing", () => {
  const record = { required: true, bundle: bundle(2) };

  beforeEach(() => write(record));

  test("when the database is lost", () => {
    loseDatabase();
    expect(start()).toEqual({ record, trouble: undefined });
    rmSync(path);
    expect(start()).toEqual({ record, trouble: undefined });
  });

  test("when the database is damaged", () => {
    writeFileSync(join(stateDir, "agent.db"), "no database");
    expect(start()).toEqual({ record, trouble: undefined });
  });

  test("when the file is lost", () => {
    rmSync(path);
    expect(start()).toEqual({ record, trouble: undefined });
    loseDatabase();
    expect(start()).toEqual({ record, trouble: undefined });
  });

  test("when the file is damaged, and names it once", () => {
    writeFileSync(path, readFileSync(path, "utf8").slice(0, 40));
    const found = start();
    expect(found.record).toEqual(record);
    expect(found.trouble).toContain(`${path} cannot be used (it is torn or was changed`);
    expect(start()).toEqual({ record, trouble: undefined });
  });
});

describe("of two copies", () => {
  const cases: Readonly<
    Record<string, readonly [file: TrustRecord, row: TrustRecord, counts: TrustRecord]>
  > = {
    "the one that requires counts: the file": [REQUIRED, NOTHING, REQUIRED],
    "the one that requires counts: the row": [NOTHING, REQUIRED, REQUIRED],
    "the newer bundle counts: of the file": [
      { required: true, bundle: bundle(2) },
      { required: true, bundle: bundle(1) },
      { required: true, bundle: bundle(2) },
    ],
    "the newer bundle counts: of the row": [
      { required: true, bundle: bundle(1) },
      { required: false, bundle: bundle(2) },
      { required: true, bundle: bundle(2) },
    ],
    "a bundle counts against none": [
      REQUIRED,
      { required: false, bundle: bundle(1) },
      {
        required: true,
        bundle: bundle(1),
      },
    ],
  };
  test.each(Object.entries(cases))("%s", (_case, [file, row, counts]) => {
    write(row);
    writeFileSync(path, encodeTrust(file));
    expect(start()).toEqual({ record: counts, trouble: undefined });
    expect(readFileSync(path, "utf8")).toBe(encodeTrust(counts));
    rmSync(path);
    expect(start().record).toEqual(counts);
  });
});

test("a reset forgets in both", () => {
  write({ required: true, bundle: bundle(7) });
  write(NOTHING);
  expect(start()).toEqual({ record: NOTHING, trouble: undefined });
  loseDatabase();
  expect(start()).toEqual({ record: NOTHING, trouble: undefined });
});

describe("requires signatures for good when there is", () => {
  const line = encodeTrust(NOTHING);
  test.each([
    ["an empty file", ""],
    ["a torn file", line.slice(0, -10)],
    ["a file changed by hand", encodeTrust(REQUIRED).replace("true", "false")],
    ["a file without a checksum", JSON.stringify({ record: NOTHING })],
    ["a file that is no JSON", "no"],
  ])("%s", (_case, text) => {
    writeFileSync(path, text);
    const found = start();
    expect(found.record).toEqual(REQUIRED);
    expect(found.trouble).toContain(`${path} cannot be used`);
    expect(found.trouble).toContain('until "agent trust reset"');
    expect(start()).toEqual({ record: REQUIRED, trouble: undefined });
  });

  test("a directory in place of the file, also when it has gone again", () => {
    mkdirSync(path);
    expect(start().record).toEqual(REQUIRED);
    expect(start().trouble).toContain(path);
    rmSync(path, { recursive: true });
    expect(start()).toEqual({ record: REQUIRED, trouble: undefined });
  });

  test("a row that is no record", () => {
    {
      using store = openStore(stateDir);
      store.meta.set("trust", "{}");
    }
    const found = start();
    expect(found.record).toEqual(REQUIRED);
    expect(found.trouble).toContain("the row `trust` of the database cannot be used");
  });
});

describe("when both copies are gone", () => {
  /** What stands in `desired/` before; the record goes with the file and, unless `keepDatabase`, with the database. */
  function loseBoth(signed: boolean, keepDatabase: boolean): void {
    {
      using store = openStore(stateDir);
      store.trust.write(REQUIRED);
      store.documents.accept({
        source: "mqtt:node",
        epoch: "e",
        generation: 1,
        digest: "sha256:1",
        payload: new TextEncoder().encode("{}"),
        observedGeneration: 0,
        acceptedAt: 5,
        signed,
      });
      store.database.query<[], unknown>("DELETE FROM meta WHERE key = 'trust'").run();
    }
    rmSync(path);
    if (!keepDatabase) loseDatabase();
  }

  test.each([true, false])("a signed document still requires (database kept: %p)", (kept) => {
    loseBoth(true, kept);
    const found = start();
    expect(found.record).toEqual(REQUIRED);
    expect(found.trouble).toContain("a stored document is signed");
    expect(found.trouble).toContain('until "agent trust reset"');
    expect(start()).toEqual({ record: REQUIRED, trouble: undefined });
  });

  test.each([true, false])("an unsigned one requires nothing (database kept: %p)", (kept) => {
    loseBoth(false, kept);
    expect(start()).toEqual({ record: NOTHING, trouble: undefined });
  });

  test("a signed document does not undo a reset", () => {
    loseBoth(true, true);
    write(NOTHING);
    expect(start()).toEqual({ record: NOTHING, trouble: undefined });
    loseDatabase();
    expect(start()).toEqual({ record: NOTHING, trouble: undefined });
  });
});

test("a newer agent's record is read, what it adds is left alone", () => {
  const record = { added: 1, required: true, other: {} };
  const sum = new Bun.CryptoHasher("sha256").update(JSON.stringify(record)).digest("hex");
  writeFileSync(path, JSON.stringify({ record, sha256: sum, more: true }));
  expect(start()).toEqual({ record: REQUIRED, trouble: undefined });
});

describe("a disk that takes no file", () => {
  const full = {
    ...files,
    writeAtomic: (at: string, data: Uint8Array | string, mode: number) => {
      if (at === path) throw new Error("no space left");
      files.writeAtomic(at, data, mode);
    },
  };

  test("does not keep signatures from being required", () => {
    {
      using store = openStore(stateDir, { files: full });
      expect(() => store.trust.write(REQUIRED)).toThrow("no space left");
      expect(store.trust.read()).toEqual(REQUIRED);
    }
    expect(start()).toEqual({ record: REQUIRED, trouble: undefined });
  });

  test("resets nothing", () => {
    write({ required: true, bundle: bundle(1) });
    {
      using store = openStore(stateDir, { files: full });
      expect(() => store.trust.write(NOTHING)).toThrow("no space left");
      expect(store.trust.read()).toEqual({ required: true, bundle: bundle(1) });
    }
    expect(start().record).toEqual({ required: true, bundle: bundle(1) });
  });

  test("lets the agent start, and is said", () => {
    write(REQUIRED);
    rmSync(path);
    using store = openStore(stateDir, { files: full });
    expect(store.trust.read()).toEqual(REQUIRED);
    expect(store.trust.trouble).toContain("cannot be stored: no space left");
  });
});
