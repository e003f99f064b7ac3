// When the eviction manager looks, what it frees first, whom it ends, and what it stores.

import { describe, expect, test } from "bun:test";
import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import type { ResourceList } from "../../../src/api/v1/resources.ts";
import type { AgentConfig } from "../../../src/config/config.ts";
import { EvictedPods } from "../../../src/eviction/evicted-pods.ts";
import { EvictionManager } from "../../../src/eviction/eviction-manager.ts";
import { NodeObserver } from "../../../src/eviction/observe-node.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { EvictionRow } from "../../../src/store/evictions.ts";
import type { PodUsage } from "../../../src/stats/pod-usage.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeReadings, GIB } from "../../fakes/fake-readings.ts";
import { FakeRuntime } from "../../fakes/fake-runtime.ts";

const MIB = 1024 ** 2;
const IMAGES = "/var/lib/containerd";

class World implements Disposable {
  readonly clock = new VirtualClock();
  readonly readings = new FakeReadings();
  readonly runtime = new FakeRuntime({ clock: this.clock, images: [] });
  /** What was done, in order. */
  readonly acts: string[] = [];
  readonly stored = new Map<string, EvictionRow>();
  readonly running = new Map<string, DesiredPod>();
  /** What is still being cleaned up. */
  readonly leaving = new Set<string>();
  /** What runs without anybody who would stop it. */
  readonly leftovers = new Set<string>();
  readonly usages = new Map<string, number>();
  isSettled = true;
  isDiskFull = false;
  /** Measuring the disks of pods with limits never comes to an end. */
  hangsWithLimits = false;
  hasReserve = true;
  onReclaim: () => void = () => undefined;
  readonly #stop = new AbortController();

  /** `evicted`: by an earlier process, which has ended before it stopped them. */
  constructor(
    config: Partial<AgentConfig> = {},
    pods: readonly string[] = ["a"],
    evicted: readonly EvictionRow[] = [],
  ) {
    for (const name of pods) this.add(name);
    for (const row of evicted) {
      this.stored.set(row.uid, row);
      this.leftovers.add(row.uid);
    }
    const { clock, readings, runtime } = this;
    const log = createLogger({ clock, level: "error", write: () => undefined });
    const edges = { clock, readings, log, cri: runtime, files: { hangable: () => undefined } };
    const all = { ...CONFIG_DEFAULTS, ...config };
    const records = new EvictedPods({
      clock,
      log,
      rows: {
        all: () => [...this.stored.values()],
        put: (row) => this.#put(row),
        forget: (uid) => void this.stored.delete(uid),
      },
      reserve: { release: () => this.#giveReserve() },
    });
    const note = (act: string) => (): Promise<void> => {
      this.acts.push(act);
      this.onReclaim();
      return Promise.resolve();
    };
    const manager = new EvictionManager({
      edges,
      config: all,
      nodeName: "pi",
      record: () => undefined,
      observer: new NodeObserver({
        edges: edges as unknown as ConstructorParameters<typeof NodeObserver>[0]["edges"],
        config: all,
        podsCgroup: () => "kubepods",
      }),
      stats: {
        measure: (pods, { podMs }) =>
          this.hangsWithLimits && podMs === undefined
            ? new Promise(() => undefined)
            : Promise.resolve(this.#measure(pods)),
      },
      evicted: records,
      reserve: { keep: () => undefined },
      reclaim: { deadContainers: note("dead containers"), images: note("images") },
      candidates: () => [...this.running.values()],
      stop: ({ uid }) => {
        this.acts.push(`stop ${uid} ${records.grace(uid)} s`);
        this.running.delete(uid);
        if (this.leftovers.delete(uid)) this.leaving.add(uid);
      },
      isLeftover: (uid) => this.leftovers.has(uid),
      exists: (uid) => this.running.has(uid) || this.leaving.has(uid) || this.leftovers.has(uid),
      isWanted: (uid) => uid !== "unwanted",
      isSettled: () => this.isSettled,
      onPressure: () => undefined,
      onChange: () => undefined,
    });
    void manager.run(this.#stop.signal);
  }

  add(name: string, limits: ResourceList = {}): void {
    const containers = [aContainer("a", { resources: { requests: {}, limits } })];
    const pod = aPod({ terminationGracePeriodSeconds: 60, containers }, { name, uid: name });
    this.running.set(name, aDesiredPod(pod, { uid: name, source: "file" }));
  }

  memory(mebibytes: number): void {
    this.readings.memoryRoom = { capacity: 4 * GIB, available: mebibytes * MIB };
  }

  /** Of the file system of the images, which is another one than the agent's if `own`. */
  images(share: number, own = false): void {
    const room = { capacity: 10 * GIB, available: 10 * GIB * share };
    const disk = { ...this.readings.disk, bytes: room };
    if (own) this.readings.others.set(IMAGES, { ...disk, device: "card" });
    else this.readings.disk = disk;
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  #put(row: EvictionRow): void {
    if (this.isDiskFull) throw new Error("no space left on device");
    this.acts.push(`store ${row.uid}`);
    this.stored.set(row.uid, row);
  }

  #giveReserve(): boolean {
    this.acts.push("give the reserve");
    if (this.hasReserve) this.isDiskFull = false;
    return this.hasReserve;
  }

  #measure(pods: readonly DesiredPod[]): ReadonlyMap<string, PodUsage> {
    const usage = (uid: string): PodUsage => {
      const bytes = (this.usages.get(uid) ?? 1) * MIB;
      const tree = { bytes, inodes: 1 };
      const container = { name: "a", memoryBytes: bytes, writableLayer: tree, logs: tree };
      const rest = { emptyDirs: new Map(), cgroupMemoryBytes: undefined, pids: 1 };
      return { containers: [container], ...rest };
    };
    return new Map(pods.map(({ uid }) => [uid, usage(uid)]));
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }
}

describe("what is freed first", () => {
  test("on a disk: dead containers, images, and only then a pod", async () => {
    using world = new World();
    world.images(0.05);
    await world.pass(1_000);
    expect(world.acts).toEqual(["dead containers", "images", "store a", "stop a 1 s"]);
  });

  test("nothing more, if that suffices", async () => {
    using world = new World();
    world.images(0.05);
    world.onReclaim = () => world.images(0.5);
    await world.pass(120_000);
    expect(world.acts).toEqual(["dead containers", "images"]);
  });

  test("more, if the minimum reclaim is not reached", async () => {
    using world = new World({ evictionMinimumReclaim: { "imagefs.available": "60%" } });
    world.images(0.05);
    world.onReclaim = () => world.images(0.5);
    await world.pass(1_000);
    expect(world.acts.at(-1)).toBe("stop a 1 s");
  });

  test("a failure to free something delays no eviction", async () => {
    using world = new World();
    world.images(0.05);
    world.onReclaim = () => {
      throw new Error("the runtime is away");
    };
    await world.pass(1_000);
    expect(world.acts.at(-1)).toBe("stop a 1 s");
  });

  test("of memory, nothing can be", async () => {
    using world = new World();
    world.memory(50);
    await world.pass(1_000);
    expect(world.acts).toEqual(["store a", "stop a 1 s"]);
  });

  test("images that lie elsewhere do not relieve the agent's own disk", async () => {
    using world = new World();
    world.images(0.9, true);
    world.images(0.05);
    await world.pass(1_000);
    expect(world.acts).toEqual(["store a", "stop a 1 s"]);
  });
});

describe("pods end one by one", () => {
  test("the next one when the one before is cleaned up and the node is still short", async () => {
    using world = new World({}, ["a", "b", "c"]);
    world.usages.set("a", 1).set("b", 3).set("c", 2);
    world.leaving.add("b");
    world.memory(50);
    await world.pass(20_000);
    expect(world.acts).toEqual(["store b", "stop b 1 s"]);
    world.leaving.clear();
    await world.pass(7_000);
    expect(world.acts.slice(2)).toEqual(["store c", "stop c 1 s"]);
    world.memory(500);
    await world.pass(600_000);
    expect(world.acts).toHaveLength(4);
  });

  test("and a pod that does not end holds up the others for half a minute only", async () => {
    using world = new World({}, ["a", "b"]);
    world.leaving.add("a").add("b");
    world.memory(50);
    await world.pass(40_000);
    expect(world.acts.filter((act) => act.startsWith("stop"))).toHaveLength(2);
  });

  test("not before every pod has its worker", async () => {
    using world = new World();
    world.isSettled = false;
    world.memory(50);
    await world.pass(120_000);
    expect(world.acts).toEqual([]);
    world.isSettled = true;
    await world.pass(10_000);
    expect(world.acts).toHaveLength(2);
  });
});

describe("limits of storage", () => {
  const LIMIT = { "ephemeral-storage": "10Mi" };

  test("end each pod that exceeds its own, and no other", async () => {
    using world = new World({}, ["free"]);
    for (const name of ["greedy", "modest"]) world.add(name, LIMIT);
    world.usages.set("free", 100).set("greedy", 8).set("modest", 4);
    await world.pass(61_000);
    expect(world.acts).toEqual(["store greedy", "stop greedy 1 s"]);
  });

  test("are looked at once a minute, and not before every pod has its worker", async () => {
    using world = new World({}, []);
    world.isSettled = false;
    world.add("greedy", LIMIT);
    world.usages.set("greedy", 8);
    await world.pass(150_000);
    expect(world.acts).toEqual([]);
    world.isSettled = true;
    await world.pass(60_000);
    expect(world.acts).toHaveLength(2);
  });

  test("delay no eviction for memory, however long a pod's files take to measure", async () => {
    using world = new World({}, ["a"]);
    world.add("endless", LIMIT);
    world.usages.set("a", 9);
    world.hangsWithLimits = true;
    await world.pass(70_000);
    world.memory(50);
    await world.pass(10_000);
    expect(world.acts).toEqual(["store a", "stop a 1 s"]);
  });
});

describe("a soft threshold", () => {
  const soft = {
    evictionSoft: { "memory.available": "200Mi" },
    evictionSoftGracePeriod: { "memory.available": 90_000 },
  };

  test("acts after its time, with the shorter grace period", async () => {
    using world = new World({ ...soft, evictionMaxPodGracePeriod: 45 });
    world.memory(150);
    await world.pass(89_000);
    expect(world.acts).toEqual([]);
    await world.pass(11_000);
    expect(world.acts).toEqual(["store a", "stop a 45 s"]);
  });

  test("gives a second where no time is configured", async () => {
    using world = new World(soft);
    world.memory(150);
    await world.pass(100_000);
    expect(world.acts.at(-1)).toBe("stop a 1 s");
  });

  test("never gives more than the pod's own", async () => {
    using world = new World({ ...soft, evictionMaxPodGracePeriod: 3_600 });
    world.memory(150);
    await world.pass(100_000);
    expect(world.acts.at(-1)).toBe("stop a 60 s");
  });

  test("yields to the hard one", async () => {
    using world = new World({ ...soft, evictionMaxPodGracePeriod: 45 });
    world.memory(50);
    await world.pass(1_000);
    expect(world.acts.at(-1)).toBe("stop a 1 s");
  });
});

describe("the record of an eviction", () => {
  test("gets the space of the reserve when the disk is full", async () => {
    using world = new World();
    world.isDiskFull = true;
    world.memory(50);
    await world.pass(1_000);
    expect(world.acts).toEqual(["give the reserve", "store a", "stop a 1 s"]);
  });

  test("is done without when there is no space at all", async () => {
    using world = new World();
    world.isDiskFull = true;
    world.hasReserve = false;
    world.memory(50);
    await world.pass(1_000);
    expect(world.acts).toEqual(["give the reserve", "stop a 1 s"]);
  });

  test("goes when the pod may return, and when no source asks for it", async () => {
    using world = new World({}, ["a", "unwanted"]);
    world.memory(50);
    await world.pass(30_000);
    expect([...world.stored.keys()]).toEqual(["a"]);
    world.memory(500);
    await world.pass(290_000);
    expect(world.stored.size).toBe(1);
    await world.pass(40_000);
    expect(world.stored.size).toBe(0);
  });
});

describe("an eviction that an earlier process did not come to do", () => {
  const left: EvictionRow = {
    uid: "a",
    namespace: "default",
    name: "a",
    message: "The node was low on resource: memory.",
    condition: "MemoryPressure",
    grace: 1,
  };

  test("is done, and no other pod goes before there was time to end that one", async () => {
    using world = new World({}, ["b"], [left]);
    world.memory(50);
    await world.pass(4_000);
    expect(world.acts).toEqual(["stop a 1 s"]);
    world.leaving.clear();
    await world.pass(10_000);
    expect(world.acts.slice(1)).toEqual(["store b", "stop b 1 s"]);
  });

  test("is done although the pressure has ended, and the pod returns afterwards", async () => {
    using world = new World({}, [], [left]);
    await world.pass(30_000);
    expect(world.acts).toEqual(["stop a 1 s"]);
    world.leaving.clear();
    await world.pass(600_000);
    expect(world.stored.size).toBe(0);
  });

  test("is none when no source asks for the pod: that it is not wanted ends it", async () => {
    using world = new World({}, [], [{ ...left, uid: "unwanted" }]);
    await world.pass(30_000);
    expect(world.acts).toEqual([]);
  });
});

describe("looks", () => {
  async function looksIn(world: World, ms: number): Promise<number> {
    const before = world.readings.looks;
    await world.pass(ms);
    return world.readings.looks - before;
  }

  test("come every ten seconds, however much there is", async () => {
    using world = new World();
    await world.pass(60_000);
    expect(await looksIn(world, 600_000)).toBe(60);
    world.memory(250);
    await world.pass(60_000);
    expect(await looksIn(world, 600_000)).toBe(60);
  });

  test("come at once when tasks wait for memory that is near its threshold", async () => {
    using world = new World();
    world.readings.stalls = 1_000;
    world.memory(250);
    await world.pass(11_000);
    world.memory(50);
    await world.pass(2_000);
    expect(world.acts).toEqual([]);
    world.readings.stalls = 1_051;
    await world.pass(1_000);
    expect(world.acts.at(-1)).toBe("stop a 1 s");
  });

  test("come no sooner for stalls while there is plenty, or right after an eviction", async () => {
    using world = new World({}, ["a", "b"]);
    const stall = (): void => {
      world.readings.stalls = (world.readings.stalls ?? 0) + 500;
    };
    stall();
    await world.pass(10_000);
    const before = world.readings.looks;
    for (let second = 0; second < 10; second += 1) {
      stall();
      await world.pass(1_000);
    }
    expect(world.readings.looks - before).toBe(1);
    world.memory(50);
    await world.pass(10_000);
    expect(world.acts.filter((act) => act.startsWith("stop"))).toHaveLength(1);
    for (let second = 0; second < 3; second += 1) {
      stall();
      await world.pass(1_000);
    }
    expect(world.acts.filter((act) => act.startsWith("stop"))).toHaveLength(1);
  });

  test("wait for no runtime that is silent", async () => {
    using world = new World();
    world.runtime.faults.order("imageFsInfo", { type: "hang" });
    world.memory(50);
    await world.pass(2_000);
    expect(world.acts.at(-1)).toBe("stop a 1 s");
  });

  test("ask the runtime only once", async () => {
    using world = new World();
    await world.pass(3_600_000);
    expect(world.runtime.calls.map(({ call }) => call)).toEqual(["imageFsInfo"]);
  });
});
