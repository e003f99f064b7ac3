import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import type { GoodCopy, RolloutState } from "../../../src/api/pod/rollout.ts";
import { openStore } from "./open-store.ts";
import { temporaryDirectories } from "./temporary-directories.ts";

const newDirectory = temporaryDirectories();

const WEB = { source: "mqtt:node", name: "default/web" } as const;
const GOOD: RolloutState = {
  good: { revision: "0123456789abcdef", generation: 3 },
  bad: [{ revision: "ba", generation: 4, reason: "PodFailed", message: "it fell over" }],
};
const ON_TRIAL: RolloutState = {
  ...GOOD,
  trial: {
    revision: "new",
    generation: 5,
    since: 1_000,
    crashesBefore: 1,
    elapsedMs: 60_000,
    at: 1234.5,
    counts: true,
    bootId: "boot-1",
    boots: 2,
    started: true,
    failed: { reason: "CrashLoopBackOff", message: "it ended 3 times in a row" },
  },
};
const COPY: GoodCopy = {
  pod: '{"kind":"Pod"}',
  objects: ['{"kind":"Secret","data":"very-private"}'],
  images: { main: "sha256:1" },
};

test("a state and its good copy are there after a restart, until they are forgotten", () => {
  const stateDir = newDirectory();
  {
    using store = openStore(stateDir);
    store.rollouts.save([{ ...WEB, state: ON_TRIAL, copy: COPY }]);
    expect(store.rollouts.of("mqtt:node").get(WEB.name)).toEqual(ON_TRIAL);
  }
  {
    using store = openStore(stateDir);
    expect(store.rollouts.of("mqtt:node")).toEqual(new Map([[WEB.name, ON_TRIAL]]));
    expect(store.rollouts.of("mqtt:group/x").size).toBe(0);
    expect(store.rollouts.copy(WEB)).toEqual({ type: "Found", copy: COPY });
    store.rollouts.forget([WEB, { ...WEB, name: "never/there" }]);
    expect(store.rollouts.copy(WEB).type).toBe("Lost");
  }
  using store = openStore(stateDir);
  expect(store.rollouts.of("mqtt:node").size).toBe(0);
});

test("a copy belongs to its revision, and stays while only the trial changes", () => {
  using store = openStore(newDirectory());
  store.rollouts.save([{ ...WEB, state: GOOD, copy: COPY }]);
  store.rollouts.save([{ ...WEB, state: ON_TRIAL }]);
  expect(store.rollouts.copy(WEB)).toEqual({ type: "Found", copy: COPY });
  store.rollouts.save([{ ...WEB, state: { ...GOOD, good: { revision: "other", generation: 6 } } }]);
  expect(store.rollouts.copy(WEB)).toEqual({ type: "Lost", why: "there is none" });
});

test("what a copy holds does not lie on the disk in plain sight, and a lost key loses it", () => {
  const stateDir = newDirectory();
  {
    using store = openStore(stateDir);
    store.rollouts.save([{ ...WEB, state: GOOD, copy: COPY }]);
  }
  expect(readFileSync(join(stateDir, "agent.db")).includes("very-private")).toBe(false);
  rmSync(join(stateDir, "secret.key"));
  using store = openStore(stateDir);
  expect(store.rollouts.of("mqtt:node").get(WEB.name)).toEqual(GOOD);
  const found = store.rollouts.copy(WEB);
  expect(found.type === "Lost" && found.why).toContain("sealed with the key");
});

test("a state that cannot be read is as good as not there", () => {
  const stateDir = newDirectory();
  {
    using store = openStore(stateDir);
    store.rollouts.save([
      { ...WEB, state: GOOD },
      { ...WEB, name: "default/other", state: GOOD },
    ]);
  }
  const sqlite = new Sqlite(join(stateDir, "agent.db"));
  sqlite.exec(`UPDATE rollout SET state = '{"bad":7}' WHERE name = 'default/web'`);
  sqlite.close();
  using store = openStore(stateDir);
  expect([...store.rollouts.of("mqtt:node").keys()]).toEqual(["default/other"]);
});

test("several are written together or not at all", () => {
  using store = openStore(newDirectory());
  const broken = {
    ...WEB,
    name: "default/broken",
    state: { bad: [1n] } as unknown as RolloutState,
  };
  expect(() => store.rollouts.save([{ ...WEB, state: GOOD }, broken])).toThrow();
  expect(store.rollouts.of("mqtt:node").size).toBe(0);
});

test("a lost database finds what was good and bad in the file beside it", () => {
  const stateDir = newDirectory();
  {
    using store = openStore(stateDir);
    store.rollouts.save([{ ...WEB, state: ON_TRIAL, copy: COPY }]);
  }
  for (const suffix of ["", "-wal", "-shm"])
    rmSync(join(stateDir, `agent.db${suffix}`), { force: true });
  {
    using store = openStore(stateDir);
    expect(store.rollouts.of("mqtt:node").get(WEB.name)).toEqual(ON_TRIAL);
    expect(store.rollouts.copy(WEB)).toEqual({ type: "Found", copy: COPY });
    store.rollouts.forget([WEB]);
  }
  expect(existsSync(join(stateDir, "desired/rollouts"))).toBe(false);
});

test("a file that was changed counts as none, and a database that is there outweighs it", () => {
  const stateDir = newDirectory();
  const path = join(stateDir, "desired/rollouts");
  {
    using store = openStore(stateDir);
    store.rollouts.save([{ ...WEB, state: ON_TRIAL, copy: COPY }]);
  }
  const whole = readFileSync(path, "utf8");
  expect(whole).not.toContain("very-private");
  writeFileSync(path, whole.replace("ba", "ab"));
  {
    using store = openStore(stateDir);
    expect(store.rollouts.of("mqtt:node").get(WEB.name)).toEqual(ON_TRIAL);
  }
  for (const suffix of ["", "-wal", "-shm"])
    rmSync(join(stateDir, `agent.db${suffix}`), { force: true });
  using store = openStore(stateDir);
  expect(store.rollouts.of("mqtt:node").size).toBe(0);
});
