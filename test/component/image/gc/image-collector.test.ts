// Collection of images against a runtime in memory and a real database.

import { PullBoard } from "../../../../src/image/pull-progress.ts";
import { NO_PULL_EDGE } from "../../../fakes/fake-pull-edge.ts";
import { afterEach, describe, expect, test } from "bun:test";
import type { NewEvent } from "../../../../src/api/v1/events.ts";
import { ImageCollector } from "../../../../src/image/gc/image-collector.ts";
import type { ImageUser } from "../../../../src/image/gc/image-holds.ts";
import { ImageUsage } from "../../../../src/image/gc/image-usage.ts";
import { ImagePuller } from "../../../../src/image/image-puller.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import type { Store } from "../../../../src/store/store.ts";
import { VirtualClock } from "../../../fakes/fake-clock.ts";
import { FakeRuntime } from "../../../fakes/fake-runtime.ts";
import { totalChanges } from "../../../fakes/in-the-store.ts";
import { makeTempDirectory, type TempDirectory } from "../../../harness/temp-directory.ts";
import { openStore } from "../../store/open-store.ts";

const MINUTE = 60_000;
const POLICY = { highPercent: 85, lowPercent: 80, minAgeMs: 2 * MINUTE, maxAgeMs: 0 };
/** Of the file system of images; the pause image takes 1000 bytes of it. */
const CAPACITY = 11_000;

/** One agent beside one runtime; `restart` is another process, `reboot` another boot. */
class World {
  readonly temp: TempDirectory = makeTempDirectory();
  readonly sizes = new Map<string, bigint>();
  clock = new VirtualClock();
  readonly cri = new FakeRuntime({ clock: this.clock, sizeOf: (name) => this.sizes.get(name) });
  readonly wanted: ImageUser[] = [];
  readonly events: NewEvent[] = [];
  policy = POLICY;
  capacity = CAPACITY;
  isSettled = true;
  /** Of killed imports. */
  leftBytes = 0;
  sweep = (): void => void (this.leftBytes = 0);
  bootId = "boot-1";
  store: Store = openStore(this.temp.path);
  usage = this.#usage();
  #stop = new AbortController();

  #usage(): ImageUsage {
    const { clock, bootId, store } = this;
    return new ImageUsage({ clock, bootId, log: this.#log(), rows: store.images });
  }

  #log(): ReturnType<typeof createLogger> {
    return createLogger({ clock: this.clock, level: "error", write: () => undefined });
  }

  collector(users: () => readonly ImageUser[] = () => this.wanted): ImageCollector {
    return new ImageCollector({
      clock: this.clock,
      random: { next: () => 0.5, hex: () => "" },
      log: this.#log(),
      cri: this.cri,
      diskSpace: () => ({
        capacityBytes: this.capacity,
        availableBytes: this.capacity - Number(this.cri.imageBytes) - this.leftBytes,
      }),
      policy: this.policy,
      usage: this.usage,
      users,
      isSettled: () => this.isSettled,
      sweep: () => Promise.try(() => this.sweep()),
      record: (event) => this.events.push(event),
      nodeName: "node",
    });
  }

  run(): void {
    void this.collector().run(this.#stop.signal);
  }

  restart(bootId = this.bootId, clock = this.clock): void {
    this.#stop.abort();
    this.#stop = new AbortController();
    this.store[Symbol.dispose]();
    this.store = openStore(this.temp.path);
    this.bootId = bootId;
    this.clock = clock;
    this.usage = this.#usage();
  }

  async pull(name: string, size = 1000n): Promise<void> {
    this.sizes.set(name, size);
    const puller = new ImagePuller({
      cri: this.usage.watch(this.cri),
      limits: { parallel: 1, perSecond: 5, burst: 10 },
      board: new PullBoard(() => undefined),
      pulls: NO_PULL_EDGE,
      clock: this.clock,
      random: { next: () => 0.5, hex: () => "" },
      log: this.#log(),
    });
    await puller.ensure(name, "IfNotPresent", { signal: this.#stop.signal });
    await this.clock.advance(1000);
  }

  want(name: string): void {
    this.wanted.push({ reference: name, why: "Pod", by: "default/web" });
  }

  /** Without the pause image. */
  get images(): readonly string[] {
    return [...this.cri.images.keys()].filter((name) => name !== this.cri.sandboxImage).toSorted();
  }

  async collectUnused(): Promise<number> {
    return (await this.collector().collectUnused(this.#stop.signal)).freedBytes;
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
    this.store[Symbol.dispose]();
    this.temp.remove();
  }
}

let world: World | undefined;

function aWorld(): World {
  const made = new World();
  world = made;
  return made;
}

afterEach(() => world?.[Symbol.dispose]());

describe("over the high threshold", () => {
  test("the least recently used go until the low one, and what is wanted stays", async () => {
    const node = aWorld();
    for (const name of ["r.test/a:1", "r.test/b:1", "r.test/c:1"]) await node.pull(name, 3000n);
    node.want("r.test/a:1");
    node.run();
    await node.clock.advance(6 * MINUTE);
    expect(node.images).toEqual(["r.test/a:1", "r.test/c:1"]);
    expect(node.events).toEqual([]);
  });

  test("what killed imports have left goes first, and no image if that is enough", async () => {
    const node = aWorld();
    for (const name of ["r.test/a:1", "r.test/b:1"]) await node.pull(name, 3000n);
    node.leftBytes = 3000;
    node.run();
    await node.clock.advance(6 * MINUTE);
    expect([node.leftBytes, node.images]).toEqual([0, ["r.test/a:1", "r.test/b:1"]]);
    expect(node.events).toEqual([]);
  });

  test("a failure to find what killed imports have left keeps no image", async () => {
    const node = aWorld();
    for (const name of ["r.test/a:1", "r.test/b:1", "r.test/c:1"]) await node.pull(name, 3000n);
    node.sweep = () => {
      throw new Error("containerd does not answer");
    };
    node.run();
    await node.clock.advance(6 * MINUTE);
    expect(node.images).toEqual(["r.test/b:1", "r.test/c:1"]);
  });

  test("nothing goes below it, and nothing is listed", async () => {
    const node = aWorld();
    await node.pull("r.test/a:1", 3000n);
    node.run();
    const before = node.cri.calls.length;
    await node.clock.advance(60 * MINUTE);
    expect(node.images).toEqual(["r.test/a:1"]);
    expect(node.cri.callNames().slice(before)).toEqual(["imageFsInfo"]);
  });

  test("images of others stay, also those that they named, and an event tells what to do", async () => {
    const node = aWorld();
    node.cri.addImage("r.test/theirs:1", { size: 9000n });
    await node.pull("r.test/theirs:1");
    node.run();
    await node.clock.advance(50 * MINUTE);
    expect(node.images).toEqual(["r.test/theirs:1"]);
    expect(node.events.map(({ reason }) => reason)).toEqual(["FreeDiskSpaceFailed"]);
    expect(node.events[0]?.message).toContain("/var/lib/containerd");
    await node.clock.advance(20 * MINUTE);
    expect(node.events).toHaveLength(2);
  });

  test("an image of a container stays, running or dead, also of a pod of others", async () => {
    const node = aWorld();
    await node.pull("r.test/a:1", 9000n);
    const sandboxId = await node.cri.runPodSandbox({ config: { metadata: { name: "x" } } });
    const config = { metadata: { name: "app" }, image: { image: "r.test/a:1" } };
    await node.cri.createContainer({ sandboxId, config, sandboxConfig: {} });
    node.run();
    await node.clock.advance(30 * MINUTE);
    expect(node.images).toEqual(["r.test/a:1"]);
  });

  test("a pod that comes between the list and the removal keeps its image", async () => {
    const node = aWorld();
    for (const name of ["r.test/a:1", "r.test/b:1"]) await node.pull(name, 5000n);
    await node.clock.advance(5 * MINUTE);
    const { cri } = node;
    const status = cri.status.bind(cri);
    cri.status = (options) => {
      node.want("r.test/a:1");
      return status(options);
    };
    expect(await node.collectUnused()).toBe(5000);
    expect(node.images).toEqual(["r.test/a:1"]);
  });

  test("nothing goes before the sources are ready", async () => {
    const node = aWorld();
    node.isSettled = false;
    await node.pull("r.test/a:1", 9500n);
    node.run();
    await node.clock.advance(30 * MINUTE);
    expect(await node.collectUnused()).toBe(0);
    expect(node.images).toEqual(["r.test/a:1"]);
    node.isSettled = true;
    await node.clock.advance(6 * MINUTE);
    expect(node.images).toEqual([]);
  });

  test("an image that cannot be removed does not keep the others", async () => {
    const node = aWorld();
    for (const name of ["r.test/a:1", "r.test/b:1"]) await node.pull(name, 4800n);
    node.cri.faults.order("removeImage", { type: "fail", code: 2, details: "busy" });
    node.run();
    await node.clock.advance(6 * MINUTE);
    expect(node.images).toHaveLength(1);
  });
});

describe("ages", () => {
  test("count from the last use", async () => {
    const node = aWorld();
    for (const name of ["r.test/a:1", "r.test/b:1"]) await node.pull(name, 4800n);
    const inUse = node.wanted;
    node.want("r.test/a:1");
    node.usage.look(inUse.map(({ reference }) => reference));
    await node.clock.advance(MINUTE);
    inUse.length = 0;
    node.usage.look([]);
    node.run();
    await node.clock.advance(6 * MINUTE);
    expect(node.images).toEqual(["r.test/a:1"]);
  });

  test("over the maximum an image goes though the disk is empty", async () => {
    const node = aWorld();
    node.capacity = 1_000_000;
    node.policy = { ...POLICY, maxAgeMs: 60 * MINUTE };
    await node.pull("r.test/a:1");
    node.run();
    await node.clock.advance(59 * MINUTE);
    expect(node.images).toEqual(["r.test/a:1"]);
    await node.clock.advance(10 * MINUTE);
    expect(node.images).toEqual([]);
  });

  test("survive a restart, and are never longer than what is certain", async () => {
    const node = aWorld();
    for (const name of ["r.test/used:1", "r.test/idle:1"]) await node.pull(name);
    const id = (name: string): string => node.cri.images.get(name)!.id;
    node.usage.look(["r.test/used:1"]);
    await node.clock.advance(60 * MINUTE);
    node.restart();
    expect(node.usage.idleMs(id("r.test/idle:1"))).toBe(61 * MINUTE - 59_000);
    expect(node.usage.idleMs(id("r.test/used:1"))).toBe(0);
    // A new boot of which nothing was written: what was before it counts as it was written, and then the boot's own time.
    node.restart("boot-2", new VirtualClock({ monotonic: 5000, wall: 0 }));
    expect(node.usage.idleMs(id("r.test/idle:1"))).toBe(6000);
    expect(node.usage.idleMs(id("r.test/used:1"))).toBe(0);
  });

  test("a wall clock that jumps removes nothing", async () => {
    const node = aWorld();
    node.policy = { ...POLICY, maxAgeMs: 60 * MINUTE };
    await node.pull("r.test/a:1");
    node.clock.stepWall(10 * 365 * 86_400_000);
    node.run();
    await node.clock.advance(30 * MINUTE);
    expect(node.images).toEqual(["r.test/a:1"]);
  });
});

describe("an order", () => {
  const remove = async (node: World, reference: string, isForced = false): Promise<unknown> => {
    const { signal } = new AbortController();
    const outcome = await node.collector().remove(reference, { isForced, signal });
    return outcome.type === "Held" ? outcome.hold : outcome.type;
  };

  test("removes an image by its name, its id, and the beginning of its id", async () => {
    const node = aWorld();
    for (const name of ["r.test/a:1", "r.test/b:1", "r.test/c:1"]) await node.pull(name);
    const idOf = (name: string): string => node.cri.images.get(name)!.id;
    expect(await remove(node, "r.test/a:1")).toBe("Removed");
    expect(await remove(node, idOf("r.test/b:1"))).toBe("Removed");
    expect(await remove(node, idOf("r.test/c:1").slice(7, 20))).toBe("Removed");
    expect(node.images).toEqual([]);
    expect(await remove(node, "r.test/a:1")).toBe("NotFound");
    expect(node.store.images.all()).toEqual([]);
  });

  test.each(["Container", "Pod", "GoodRevision", "Sandbox", "Archive"] as const)(
    "leaves an image that is held as %s, also by force",
    async (why) => {
      const node = aWorld();
      await node.pull("r.test/a:1");
      node.wanted.push({ reference: "r.test/a:1", why, by: "default/web" });
      for (const isForced of [false, true])
        expect(await remove(node, "r.test/a:1", isForced)).toEqual({ why, by: ["default/web"] });
      expect(node.images).toEqual(["r.test/a:1"]);
    },
  );

  test("leaves an image of others, unless it is forced", async () => {
    const node = aWorld();
    node.cri.addImage("r.test/theirs:1");
    expect(await remove(node, "r.test/theirs:1")).toEqual({ why: "Foreign", by: [] });
    expect(await remove(node, "r.test/theirs:1", true)).toBe("Removed");
  });

  test("leaves an image for which a pod has come since the list, also by force", async () => {
    const node = aWorld();
    node.cri.addImage("r.test/theirs:1");
    let looks = 0;
    // The list looks twice: for the ages, and for what is held.
    const users = (): ImageUser[] =>
      ++looks > 2 ? [{ reference: "r.test/theirs:1", why: "Pod", by: "default/late" }] : [];
    const { signal } = new AbortController();
    const outcome = await node
      .collector(users)
      .remove("r.test/theirs:1", { isForced: true, signal });
    expect(outcome).toMatchObject({ type: "Held", hold: { why: "Pod" } });
  });

  test("removes nothing before the sources are ready", async () => {
    const node = aWorld();
    await node.pull("r.test/a:1");
    node.isSettled = false;
    expect(await remove(node, "r.test/a:1")).toBe("Unsettled");
    expect(await node.collector().unused(new AbortController().signal)).toEqual([]);
    expect(node.images).toEqual(["r.test/a:1"]);
  });

  test("what a dry run names is what goes, and the dry run removes nothing", async () => {
    const node = aWorld();
    for (const name of ["r.test/a:1", "r.test/b:1"]) await node.pull(name);
    node.want("r.test/b:1");
    const unused = await node.collector().unused(new AbortController().signal);
    expect(unused.flatMap(({ tags }) => tags)).toEqual(["r.test/a:1"]);
    expect(node.images).toHaveLength(2);
    await node.collectUnused();
    expect(node.images).toEqual(["r.test/b:1"]);
  });
});

describe("what was brought", () => {
  test("is forgotten with the database: then no image is ours", async () => {
    const node = aWorld();
    await node.pull("r.test/a:1", 9500n);
    node.store.images.forget(new Set(node.store.images.all().map(({ id }) => id)));
    node.restart();
    expect(await node.collectUnused()).toBe(0);
    expect(node.images).toEqual(["r.test/a:1"]);
  });

  test("from the archive directory stays while the archive is there, and goes afterwards", async () => {
    const node = aWorld();
    for (const name of ["r.test/kept:1", "r.test/gone:1"]) {
      node.cri.addImage(name);
      const { id, size } = node.cri.images.get(name)!;
      const image = { id, tags: [name], digests: [], sizeBytes: Number(size), isPinned: false };
      node.usage.brought(image, name, "Archive");
    }
    node.wanted.push({ reference: "r.test/kept:1", why: "Archive", by: "/images/kept.tar" });
    expect(await node.collectUnused()).toBe(1000);
    expect(node.images).toEqual(["r.test/kept:1"]);
  });

  test("a failed pull brings nothing, also if others bring the image later", async () => {
    const node = aWorld();
    node.cri.faults.order("pullImage", { type: "fail", code: 14, details: "unavailable" });
    await node.pull("r.test/a:1").catch(() => undefined);
    node.cri.addImage("r.test/a:1");
    await node.pull("r.test/a:1");
    expect(await node.collectUnused()).toBe(0);
  });

  test("the list shows who needs each image, and for how long none has", async () => {
    const node = aWorld();
    for (const name of ["r.test/a:1", "r.test/b:1"]) await node.pull(name);
    node.cri.addImage("r.test/theirs:1");
    node.want("r.test/a:1");
    const list = await node.collector().list(new AbortController().signal);
    const shown = list.map(({ image, hold, idleMs }) => [image.tags[0], hold?.why, idleMs]);
    expect(shown).toEqual([
      [node.cri.sandboxImage, "Sandbox", undefined],
      ["r.test/a:1", "Pod", 0],
      ["r.test/b:1", undefined, 1000],
      ["r.test/theirs:1", "Foreign", undefined],
    ]);
  });
});

test("a day of idling writes nothing", async () => {
  const node = aWorld();
  await node.pull("r.test/a:1");
  node.want("r.test/a:1");
  node.run();
  await node.clock.advance(6 * MINUTE);
  const before = totalChanges(node.store.database);
  await node.clock.advance(24 * 60 * MINUTE);
  expect(totalChanges(node.store.database)).toBe(before);
});
