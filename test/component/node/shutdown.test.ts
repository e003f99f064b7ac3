// In which order a node that shuts down ends its pods, how long each gets, and what it stores.

import { describe, expect, test } from "bun:test";
import type { Removal } from "../../../src/api/pod/desired-pod.ts";
import type { AgentConfig } from "../../../src/config/config.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import {
  NodeShutdown,
  type NodeShutdownOptions,
} from "../../../src/node/shutdown/node-shutdown.ts";
import { ShutdownState } from "../../../src/node/shutdown/shutdown-state.ts";
import { aPod } from "../../fakes/a-pod.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

interface FakePod {
  readonly priority: number;
  readonly grace: number;
  /** How long it takes to end when it may. */
  readonly needs: number;
  removal?: Removal;
  /** The seconds that its stop has got so far. */
  given?: number;
}

class World implements Disposable {
  readonly clock = new VirtualClock();
  readonly stored = new Map<string, string>();
  readonly pods = new Map<string, FakePod>();
  /** What was done, with the second. */
  readonly acts: string[] = [];
  isSettled = true;
  isDiskFull = false;
  isCacheEmpty = false;
  /** A removal that is resumed has no spec, nor has a pod whose source has not synced. */
  areSpecsKnown = true;
  state: ShutdownState;
  shutdown: NodeShutdown;
  readonly #config: AgentConfig;
  #process = new AbortController();

  constructor(config: Partial<AgentConfig> = {}) {
    this.#config = { ...CONFIG_DEFAULTS, ...config };
    [this.state, this.shutdown] = this.start();
  }

  /** A new process. */
  start(bootId = "boot-1"): [ShutdownState, NodeShutdown] {
    this.#process.abort();
    this.#process = new AbortController();
    const { clock } = this;
    const log = createLogger({ clock, level: "error", write: () => undefined });
    const meta = {
      get: (key: string) => this.stored.get(key),
      set: (key: string, value: string) => this.#write(() => this.stored.set(key, value)),
      remove: (key: string) => this.#write(() => this.stored.delete(key)),
    };
    const store = { meta } as unknown as ConstructorParameters<typeof ShutdownState>[0]["store"];
    this.state = new ShutdownState({ log, bootId, store });
    this.shutdown = new NodeShutdown({
      edges: { clock, log },
      config: this.#config,
      nodeName: "pi",
      record: () => undefined,
      state: this.state,
      pods: this.#pods(),
      stop: (removals) => removals.forEach((one) => this.#stop(one)),
      isSettled: () => this.isSettled,
      onChange: () => undefined,
    });
    void this.shutdown.run(this.#process.signal);
    return [this.state, this.shutdown];
  }

  add(name: string, priority: number, { grace = 30, needs = 0 } = {}): void {
    this.pods.set(name, { priority, grace, needs });
  }

  #pods(): NodeShutdownOptions["pods"] {
    const names = () => [...this.pods.keys()];
    const fake = {
      cache: {
        all: () =>
          new Map(
            (this.isCacheEmpty ? [] : names()).map((uid) => [
              uid,
              { uid, namespace: "default", name: uid },
            ]),
          ),
      },
      statuses: { isOver: (uid: string) => uid.startsWith("done") },
      workers: {
        leaving: () => [...this.pods.values()].flatMap(({ removal }) => removal ?? []),
        get: (uid: string) => this.#worker(uid),
        list: () => names().map((uid) => ({ uid, namespace: "default", name: uid })),
      },
    };
    return fake as unknown as NodeShutdownOptions["pods"];
  }

  #worker(uid: string) {
    const pod = this.pods.get(uid);
    if (pod === undefined) return undefined;
    const { priority, grace: terminationGracePeriodSeconds } = pod;
    const desired = this.areSpecsKnown && {
      pod: aPod({ priority, terminationGracePeriodSeconds }, { name: uid }),
    };
    return {
      ...(desired === false ? {} : { desired }),
      shortenGrace: (seconds: number) => {
        if (seconds >= (pod.given ?? pod.grace)) return;
        pod.given = seconds;
        this.#act(`shorten ${uid} to ${seconds}`);
      },
    };
  }

  #stop(removal: Removal): void {
    const pod = this.pods.get(removal.uid);
    if (pod === undefined) return;
    const given = this.state.grace(removal.uid);
    const grace = given ?? pod.grace;
    this.#act(`stop ${removal.uid} in ${given ?? "its own time"}`);
    pod.removal = removal;
    pod.given = grace;
    const ms = 1000 * Math.min(pod.needs, grace);
    this.clock.after(ms, () => void this.pods.delete(removal.uid));
  }

  #act(act: string): void {
    this.acts.push(`${Math.round(this.clock.monotonic() / 1000)}: ${act}`);
  }

  #write(write: () => unknown): void {
    if (this.isDiskFull) throw new Error("no space left on device");
    write();
  }

  [Symbol.dispose](): void {
    this.#process.abort();
  }
}

const CRITICAL = 2_000_000_000;
const PERIODS = { shutdownGracePeriod: 20_000, shutdownGracePeriodCriticalPods: 5_000 };

describe("a node that shuts down", () => {
  test("gives each group its period, and each pod no more than its own", async () => {
    using world = new World(PERIODS);
    const { clock } = world;
    const from = Math.round(clock.monotonic() / 1000);
    world.add("slow", 0, { grace: 60, needs: 100 });
    world.add("quick", 10, { grace: 5, needs: 1 });
    world.add("critical", CRITICAL, { grace: 60, needs: 100 });
    expect(world.shutdown.begin().seconds).toBe(20);
    await clock.advance(40_000);
    expect(world.acts).toEqual([
      `${from}: stop slow in 15`,
      `${from}: stop quick in 5`,
      `${from + 15}: stop critical in 5`,
    ]);
    expect(world.shutdown.view()).toEqual({ active: true, known: true, pods: [], seconds: 0 });
  });

  test("does not wait for a group that is gone", async () => {
    using world = new World(PERIODS);
    const from = Math.round(world.clock.monotonic() / 1000);
    world.add("quick", 0, { needs: 2 });
    world.add("critical", CRITICAL, { needs: 1 });
    world.shutdown.begin();
    await world.clock.advance(10_000);
    expect(world.acts).toEqual([`${from}: stop quick in 15`, `${from + 2}: stop critical in 5`]);
  });

  test("stops nothing before every pod is known, and stops what comes up later", async () => {
    using world = new World(PERIODS);
    world.isSettled = false;
    world.add("first", 0);
    expect(world.shutdown.begin().known).toBe(false);
    await world.clock.advance(30_000);
    expect(world.acts).toEqual([]);
    world.isSettled = true;
    expect(world.shutdown.view().known).toBe(true);
    await world.clock.advance(5_000);
    world.add("later", 0);
    await world.clock.advance(5_000);
    expect(world.pods.size).toBe(0);
  });

  test("also stops pods of which the runtime has nothing yet", async () => {
    using world = new World(PERIODS);
    world.add("new", 0);
    world.isCacheEmpty = true;
    expect(world.shutdown.begin().pods).toEqual(["default/new"]);
    await world.clock.advance(1_000);
    expect(world.pods.size).toBe(0);
  });

  test("leaves alone what has ended, and hurries what is being removed", async () => {
    using world = new World(PERIODS);
    world.add("done", 0);
    world.add("leaving", 0);
    const removal = { uid: "leaving", namespace: "default", name: "leaving", why: "Deleted" };
    const leaving = world.pods.get("leaving");
    if (leaving !== undefined) leaving.removal = removal as Removal;
    world.shutdown.begin();
    await world.clock.advance(1_000);
    expect(world.acts.map((act) => act.replace(/^\d+: /, ""))).toEqual(["shorten leaving to 15"]);
    expect(world.shutdown.view().pods).toEqual(["default/leaving"]);
  });

  test("ends no further group once it is cancelled", async () => {
    using world = new World(PERIODS);
    world.add("slow", 0, { needs: 10 });
    world.add("critical", CRITICAL);
    world.shutdown.begin();
    await world.clock.advance(2_000);
    world.shutdown.cancel();
    await world.clock.advance(30_000);
    expect([...world.pods.keys()]).toEqual(["critical"]);
    expect(world.state.refusal("critical")).toBeUndefined();
    expect(world.stored.size).toBe(0);
    world.shutdown.begin();
    await world.clock.advance(5_000);
    expect(world.pods.size).toBe(0);
  });
});

describe("the state of a shutdown", () => {
  test("is continued by the next process of the boot, and by that only", async () => {
    using world = new World(PERIODS);
    world.add("slow", 0, { needs: 10, grace: 12 });
    world.add("critical", CRITICAL);
    world.shutdown.begin();
    await world.clock.advance(2_000);
    world.start();
    expect(world.state.grace("slow")).toBe(12);
    expect(world.state.refusal("slow")?.code).toBe("Terminated");
    expect(world.state.refusal("critical")?.code).toBe("NodeShutdown");
    await world.clock.advance(20_000);
    expect(world.pods.size).toBe(0);
    world.start("boot-2");
    expect(world.shutdown.view().active).toBe(false);
    expect(world.stored.size).toBe(0);
  });

  test("leaves pods without a spec the time that they have", async () => {
    using world = new World();
    const { clock } = world;
    world.add("slow", 0, { needs: 50, grace: 60 });
    world.shutdown.begin();
    await clock.advance(2_000);
    world.areSpecsKnown = false;
    world.start();
    world.add("unknown", 0, { needs: 50, grace: 60 });
    await clock.advance(60_000);
    const acts = world.acts.map((act) => act.replace(/^\d+: /, ""));
    expect(acts).toEqual(["stop slow in 60", "stop unknown in its own time"]);
  });

  test("that cannot be stored delays no shutdown, but its end does not hold", async () => {
    using world = new World(PERIODS);
    world.add("web", 0);
    world.isDiskFull = true;
    world.shutdown.begin();
    await world.clock.advance(5_000);
    expect(world.pods.size).toBe(0);
    expect(() => world.shutdown.cancel()).toThrow("no space left");
    expect(world.shutdown.view().active).toBe(true);
  });
});
