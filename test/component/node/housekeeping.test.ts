import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPLACED_MARK } from "../../../src/api/pod/log-paths.ts";
import { podDirectory } from "../../../src/api/pod/pod-directory.ts";
import { STEP_ENTRIES } from "../../../src/host/tree/walk-tree.ts";
import { Housekeeping } from "../../../src/node/housekeeping.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { realMounts } from "../../../src/host/mounts.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { PodCleanup } from "../../../src/podworkers/pod-cleanup.ts";
import { UNGUARDED, type WorkGuard } from "../../../src/store/start-guard/start-guard.ts";
import { FakeGuard } from "../../fakes/fake-guard.ts";
import { Volumes } from "../../../src/volume/volume-manager.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { steadyRandom } from "../../agent/pod-world.ts";
import { openStore } from "../store/open-store.ts";
import { temporaryDirectories } from "../store/temporary-directories.ts";

const newDirectory = temporaryDirectories();

/** Swept once in ten minutes of a virtual clock; every pod but `isInUse` is gone. */
function aSweep({
  isInUse,
  isSettled = () => true,
  guard = UNGUARDED,
}: {
  readonly isInUse: (uid: string) => boolean;
  readonly isSettled?: () => boolean;
  readonly guard?: WorkGuard;
}) {
  const stateDir = newDirectory();
  const store = openStore(stateDir);
  const clock = new VirtualClock();
  const files = realFiles();
  const cgroups: string[] = [];
  const housekeeping = new Housekeeping({
    clock,
    random: steadyRandom,
    log: createLogger({ clock, level: "debug", write: () => undefined }),
    volumes: new Volumes({ files, mounts: realMounts(), stateDir }),
    cleanup: new PodCleanup({
      files,
      podLogsDir: join(stateDir, "logs"),
      volumes: { tearDown: () => undefined },
      cgroups: {
        removeCgroup: (uid) => {
          if (sweep.fail) throw new Error("EIO");
          cgroups.push(uid);
        },
      },
      statuses: { get: () => undefined },
    }),
    killed: store.killed,
    failures: store.failures,
    guard,
    isInUse,
    isNamed: () => true,
    isSettled,
  });
  const stop = new AbortController();
  const running = housekeeping.run(stop.signal);
  const sweep = {
    /** Nothing outside of stateDir can be removed. */
    fail: false,
    stateDir,
    store,
    clock,
    /** Of the pods whose cgroup was removed. */
    cgroups,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await clock.settle();
      await running;
      store[Symbol.dispose]();
    },
  };
  return sweep;
}

test("rows of killed containers go with pods that went while nobody looked, once all have spoken", async () => {
  let isSettled = false;
  await using sweep = aSweep({ isInUse: (uid) => uid === "here", isSettled: () => isSettled });
  const { clock, store } = sweep;
  for (const uid of ["here", "gone"])
    store.killed.put(uid, new Map([["a", { id: "1", always: false }]]));
  await clock.advance(1_200_000);
  expect(store.killed.pods()).toEqual(["here", "gone"]);
  isSettled = true;
  await clock.advance(1_200_000);
  expect(store.killed.pods()).toEqual(["here"]);
});

test("the failure of such a pod goes too: the same pod begins anew when it is declared again", async () => {
  await using sweep = aSweep({ isInUse: (uid) => uid === "here" });
  const { failures } = sweep.store;
  for (const uid of ["here", "gone"])
    failures.put(uid, { reason: "DeadlineExceeded", message: "too late" });
  await sweep.clock.advance(1_200_000);
  expect(failures.pods()).toEqual(["here"]);
});

describe("a pod that went while no agent saw it, of which the runtime has nothing", () => {
  const UID = "b2b9fb4b-e819-4776-a737-c128239deffa";

  /** What it has left: its directory in stateDir, and logs. Returns both. */
  function remains(stateDir: string, uid: string): readonly [string, string] {
    const directory = podDirectory(stateDir, uid);
    const logs = join(stateDir, "logs", `default_web_${uid}`);
    mkdirSync(join(directory, "containers/a"), { recursive: true });
    mkdirSync(join(logs, "a"), { recursive: true });
    writeFileSync(join(logs, "a/0.log"), "line\n");
    return [directory, logs];
  }

  test("leaves no directory, no logs and no cgroup behind", async () => {
    await using sweep = aSweep({ isInUse: (uid) => uid === "here" });
    const gone = remains(sweep.stateDir, UID);
    const here = remains(sweep.stateDir, "here");
    await sweep.clock.advance(1_200_000);
    expect(gone.map((path) => existsSync(path))).toEqual([false, false]);
    expect(here.map((path) => existsSync(path))).toEqual([true, true]);
    expect(sweep.cgroups).toEqual([UID]);
  });

  test("keeps its logs where they are a replaced pod's, and logs of others stay", async () => {
    await using sweep = aSweep({ isInUse: () => false });
    const [directory, logs] = remains(sweep.stateDir, UID);
    writeFileSync(join(logs, REPLACED_MARK), "{}");
    const others = join(sweep.stateDir, "logs/default_web_b2b9fb4b");
    mkdirSync(others);
    await sweep.clock.advance(1_200_000);
    expect([directory, logs, others].map((path) => existsSync(path))).toEqual([false, true, true]);
  });

  test("whose logs cannot be removed is found again by the next sweep", async () => {
    await using sweep = aSweep({ isInUse: () => false });
    const [directory, logs] = remains(sweep.stateDir, UID);
    sweep.fail = true;
    await sweep.clock.advance(1_200_000);
    expect([directory, logs].map((path) => existsSync(path))).toEqual([true, true]);
    sweep.fail = false;
    await sweep.clock.advance(1_200_000);
    expect([directory, logs].map((path) => existsSync(path))).toEqual([false, false]);
  });
});

describe("a large emptyDir that no pod owns", () => {
  const UID = "b2b9fb4b-e819-4776-a737-c128239deffa";
  const FILES = 8 * STEP_ENTRIES;

  function fill(stateDir: string): string {
    const volume = join(podDirectory(stateDir, UID), "volumes/kubernetes.io~empty-dir/data");
    mkdirSync(volume, { recursive: true });
    for (let index = 0; index < FILES; index += 1) writeFileSync(join(volume, `${index}`), "");
    return volume;
  }

  test("is removed in steps", async () => {
    let looks = 0;
    const isInUse = () => {
      looks += 1;
      return false;
    };
    await using sweep = aSweep({ isInUse });
    fill(sweep.stateDir);
    await sweep.clock.advance(1_200_000);
    expect(existsSync(podDirectory(sweep.stateDir, UID))).toBe(false);
    expect(looks).toBeGreaterThanOrEqual(8);
  });

  test("in whose removal the agent ended twice is left to a later sweep", async () => {
    const guard = new FakeGuard();
    guard.suspects.add(`Removal ${UID}`);
    await using sweep = aSweep({ isInUse: () => false, guard });
    const volume = fill(sweep.stateDir);
    await sweep.clock.advance(1_200_000);
    expect(readdirSync(volume)).toHaveLength(FILES);
    guard.allow(`Removal ${UID}`);
    await sweep.clock.advance(1_200_000);
    expect(existsSync(podDirectory(sweep.stateDir, UID))).toBe(false);
    expect(guard.history).toEqual([`hold Removal ${UID}`, `settle Removal ${UID}`]);
  });

  test("is left alone as soon as its pod is wanted again", async () => {
    let looks = 0;
    await using sweep = aSweep({ isInUse: () => (looks += 1) > 3 });
    const volume = fill(sweep.stateDir);
    await sweep.clock.advance(1_200_000);
    expect(readdirSync(volume).length).toBeGreaterThanOrEqual(FILES / 4);
  });
});
