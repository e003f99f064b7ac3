import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
  const housekeeping = new Housekeeping({
    clock,
    random: steadyRandom,
    log: createLogger({ clock, level: "debug", write: () => undefined }),
    volumes: new Volumes({ files, mounts: realMounts(), stateDir }),
    cleanup: new PodCleanup({
      files,
      podLogsDir: join(stateDir, "logs"),
      volumes: { tearDown: () => undefined },
      cgroups: { removeCgroup: () => undefined },
      statuses: { get: () => undefined },
    }),
    killed: store.killed,
    guard,
    isInUse,
    isNamed: () => true,
    isSettled,
  });
  const stop = new AbortController();
  const running = housekeeping.run(stop.signal);
  return {
    stateDir,
    store,
    clock,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await clock.settle();
      await running;
      store[Symbol.dispose]();
    },
  };
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
