// What pods use, although the runtime is silent and pods do what they can not to be measured.

import { describe, expect, test } from "bun:test";
import type { TreeUsage } from "../../../src/host/tree/walk-tree.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { PodStats, type Measuring } from "../../../src/stats/pod-stats.ts";
import { memoryOf, type PodUsage } from "../../../src/stats/pod-usage.ts";
import { aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeReadings } from "../../fakes/fake-readings.ts";
import { FakeRuntime } from "../../fakes/fake-runtime.ts";

const EMPTY: TreeUsage = { bytes: 0, inodes: 0 };
const NEVER = new AbortController().signal;

class World {
  readonly clock = new VirtualClock();
  readonly runtime = new FakeRuntime({ clock: this.clock, images: [] });
  /** Walks that have not been left open. */
  closed = 0;
  /** One walk through the emptyDir. */
  walk: () => Generator<TreeUsage, TreeUsage> = function* () {
    yield EMPTY;
    return EMPTY;
  };

  async measure(asked: Measuring): Promise<PodUsage | undefined> {
    const { clock, runtime } = this;
    const readings = new FakeReadings();
    readings.podUse = () => ({ memoryBytes: 77, pids: 3 });
    const log = createLogger({ clock, level: "error", write: () => undefined });
    const treeUsage = (path: string) => this.#tree(path);
    const edges = { clock, readings, log, cri: runtime, files: { treeUsage } };
    const stats = new PodStats({
      edges: edges as unknown as ConstructorParameters<typeof PodStats>[0]["edges"],
      config: { stateDir: "/state", podLogsDir: "/logs" },
      cgroupOf: () => "kubepods/poda",
    });
    const volumes = [{ name: "cache", emptyDir: { medium: "" } }] as const;
    const pod = aDesiredPod(aPod({ volumes: [...volumes] }), { uid: "a" });
    const measured = stats.measure([pod], asked, NEVER);
    await clock.advance(120_000);
    return (await measured).get("a");
  }

  *#tree(path: string): Generator<TreeUsage, TreeUsage> {
    if (!path.endsWith("/cache")) return EMPTY;
    try {
      return yield* this.walk();
    } finally {
      this.closed += 1;
    }
  }
}

test("a runtime that is silent is waited for ten seconds, and cgroups tell the rest", async () => {
  const world = new World();
  world.runtime.faults.order("listContainerStats", { type: "hang" });
  const before = world.clock.monotonic();
  let after = before;
  world.walk = function* () {
    after = world.clock.monotonic();
    yield EMPTY;
    return { bytes: 5, inodes: 1 };
  };
  const usage = await world.measure({ disk: true });
  expect(after - before).toBe(10_000);
  expect(usage?.emptyDirs.get("cache")).toEqual({ bytes: 5, inodes: 1 });
  expect([usage && memoryOf(usage), usage?.pids]).toEqual([77, 3]);
});

describe("a directory", () => {
  const endless = function* (world: World): Generator<TreeUsage, TreeUsage> {
    for (let counted = 1; ; counted += 1) {
      world.clock.spend(1_000);
      yield { bytes: counted, inodes: counted };
    }
  };

  test("that has no end counts as far as the time permits", async () => {
    const world = new World();
    world.walk = () => endless(world);
    const usage = await world.measure({ disk: true, podMs: 20_000 });
    expect(usage?.emptyDirs.get("cache")).toEqual({ bytes: 21, inodes: 21 });
    expect(world.closed).toBe(1);
  });

  test("that is moved while it is walked counts with the most that was seen", async () => {
    const world = new World();
    const seen = [10, 30, 20];
    world.walk = function* () {
      const bytes = seen.shift() ?? 0;
      yield { bytes, inodes: 1 };
      throw new Error("it was moved away");
    };
    const usage = await world.measure({ disk: true });
    expect(usage?.emptyDirs.get("cache")).toEqual({ bytes: 30, inodes: 1 });
    expect(seen).toEqual([]);
  });

  test("that is moved once is walked again to its end", async () => {
    const world = new World();
    let walks = 0;
    world.walk = function* () {
      walks += 1;
      yield { bytes: 90, inodes: 9 };
      if (walks === 1) throw new Error("it was moved away");
      return { bytes: 50, inodes: 5 };
    };
    const usage = await world.measure({ disk: true });
    expect(usage?.emptyDirs.get("cache")).toEqual({ bytes: 50, inodes: 5 });
  });
});
