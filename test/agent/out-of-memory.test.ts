// A process that the kernel's OOM killer ends is reported, whatever the runtime reports of it.

import { describe, expect, test } from "bun:test";
import type { NewEvent } from "../../src/api/v1/events.ts";
import { aContainer } from "../fakes/a-pod.ts";
import { PodWorld, pod } from "./pod-world.ts";

const KILLED = 137;

class MemoryWorld implements Disposable {
  readonly events: NewEvent[] = [];
  /** What the kernel has counted in the cgroup of the container, while that exists. */
  kills: number | undefined;
  readonly paths: string[] = [];
  readonly world = new PodWorld(
    {},
    {
      record: (event) => this.events.push(event),
      oomKills: (path) => {
        this.paths.push(path);
        return path.includes("besteffort") ? this.kills : undefined;
      },
    },
  );

  /** The ID of its only container. */
  async begin(limit?: string): Promise<string> {
    const limits = limit === undefined ? {} : { memory: limit };
    const containers = [aContainer("a", { resources: { limits, requests: {} } })];
    await this.world.start();
    await this.world.desire([pod("hog", "1", { containers, restartPolicy: "Never" })]);
    const [id = ""] = this.world.ids();
    return id;
  }

  reason(): string | undefined {
    const [uid] = this.world.pods.workers.desiredPods().map((one) => one.uid);
    const status = uid === undefined ? undefined : this.world.pods.statuses.status(uid);
    return status?.containerStatuses[0]?.state.terminated?.reason;
  }

  reported(): readonly string[] {
    return this.events
      .filter(({ reason }) => reason === "OOMKilling")
      .map(({ object, message }) => `${object.name}: ${message}`);
  }

  [Symbol.dispose](): void {
    this.world[Symbol.dispose]();
  }
}

const MESSAGE = "hog: the kernel has killed a process of container a, which ran out of memory";

describe("a container that runs out of memory", () => {
  test("is reported as the runtime reports it", async () => {
    using hog = new MemoryWorld();
    const id = await hog.begin("32Mi");
    hog.world.runtime.exit(id, KILLED, { oom: true });
    await hog.world.clock.advance(1_000);
    expect(hog.reason()).toBe("OOMKilled");
    expect(hog.reported()).toEqual([`${MESSAGE} (limit 32Mi)`]);
  });

  test("is reported from the kernel's counter where the runtime knows only the exit code", async () => {
    using hog = new MemoryWorld();
    const id = await hog.begin();
    hog.kills = 1;
    hog.world.runtime.exit(id, KILLED);
    await hog.world.clock.advance(1_000);
    expect(hog.paths).toContain(
      `kubepods/besteffort/pod${hog.world.pods.workers.list()[0]?.uid}/${id}`,
    );
    expect(hog.reason()).toBe("OOMKilled");
    // The runtime's own event may still come.
    hog.world.runtime.events.emit({ type: "OOM", id });
    await hog.world.clock.advance(1_000);
    expect(hog.reported()).toEqual([MESSAGE]);
  });

  test("is reported also if it has ended before its pod was observed", async () => {
    using hog = new MemoryWorld();
    const id = await hog.begin();
    const { runtime, clock } = hog.world;
    runtime.events.muted = true;
    runtime.exit(id, KILLED, { oom: true });
    await clock.advance(120_000);
    expect(hog.reason()).toBe("OOMKilled");
    expect(hog.reported()).toEqual([MESSAGE]);
  });

  test("that is not known yet is reported when it is", async () => {
    using hog = new MemoryWorld();
    await hog.begin();
    const { runtime, clock } = hog.world;
    runtime.events.emit({ type: "OOM", id: "later" });
    await clock.advance(1_000);
    expect(hog.reported()).toEqual([]);
  });

  test("goes on without a process beside its first one, and each is reported", async () => {
    using hog = new MemoryWorld();
    const id = await hog.begin();
    hog.world.runtime.events.emit({ type: "OOM", id });
    await hog.world.clock.advance(1_000);
    hog.world.runtime.events.emit({ type: "OOM", id });
    await hog.world.clock.advance(1_000);
    expect(hog.world.running()).toEqual(["hog/a/0"]);
    expect(hog.reported()).toEqual([MESSAGE, MESSAGE]);
  });
});

test.each([
  ["killed by someone else", KILLED, 0],
  ["ended by itself after it had survived a kill", 1, 3],
  ["killed where the kernel counts nothing", KILLED, undefined],
] as const)("a container that is %s did not run out of memory", async (_case, code, kills) => {
  using hog = new MemoryWorld();
  const id = await hog.begin();
  hog.kills = kills;
  hog.world.runtime.exit(id, code);
  await hog.world.clock.advance(1_000);
  expect(hog.reason()).toBe("Error");
  expect(hog.reported()).toEqual([]);
});
