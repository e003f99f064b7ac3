import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { NOTHING_DESIRED, type DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import { LABEL } from "../../../src/api/pod/labels.ts";
import type { CriClient } from "../../../src/cri/cri-client.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { bootPods, IMAGE, pod, steadyRandom, type PodProcess } from "../../agent/pod-world.ts";
import { aContainer } from "../../fakes/a-pod.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { RevocableClock } from "../../fakes/fake-revocable-clock.ts";
import { FakeRuntime } from "../../fakes/fake-runtime.ts";

/** Every call waits for its turn, in whatever order the scheduler likes. */
function scheduled(runtime: FakeRuntime, scheduler: fc.Scheduler): CriClient {
  return new Proxy<CriClient>(runtime, {
    get(target, name): unknown {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function" || name === "getContainerEvents") return member;
      const label = String(name);
      return async (...args: unknown[]): Promise<unknown> => {
        await scheduler.schedule(Promise.resolve(), label);
        return (await Reflect.apply(member, target, args)) as unknown;
      };
    },
  });
}

class Race implements Disposable {
  readonly clock = new VirtualClock();
  readonly runtime: FakeRuntime;
  readonly #directory = mkdtempSync("/tmp/agent-race-");
  readonly #scheduler: fc.Scheduler;
  readonly #process: PodProcess;
  /** What the last order said. */
  #last: readonly DesiredPod[] = [];
  readonly sins: string[] = [];

  constructor(scheduler: fc.Scheduler) {
    this.#scheduler = scheduler;
    this.runtime = new FakeRuntime({
      clock: this.clock,
      images: [IMAGE],
      program: ({ config }) => (config.metadata?.name === "init" ? { exitsAfterMs: 100 } : {}),
      onEvent: ({ type }) => {
        if (type === "Started" && this.uids().size > 1) this.sins.push("two UIDs of one name run");
        if (type === "Started" && new Set(this.running()).size < this.running().length)
          this.sins.push("two instances of one container run");
      },
    });
    const cri = scheduled(this.runtime, scheduler);
    const process: PodProcess = bootPods({
      clock: new RevocableClock(this.clock),
      random: steadyRandom,
      runtime: { cri, events: this.runtime.events, revoke: () => undefined },
      files: realFiles(),
      directory: this.#directory,
      write: () => undefined,
      ensureImage: (_pod, { image }) => Promise.resolve({ ref: image, username: "" }),
      requireNetwork: () => Promise.resolve(),
      onPodChanged: (uid) => process.runner.workers.notify(uid),
    });
    this.#process = process;
  }

  async start(): Promise<void> {
    const { lifecycle, stop } = this.#process;
    const listed = lifecycle.relist(stop.signal);
    await this.drain();
    await listed;
    this.#process.follow();
    await this.drain();
  }

  order(pods: readonly DesiredPod[]): void {
    this.#last = pods;
    const desired = { pods, held: new Set<string>(), ready: new Set(["file" as const]) };
    this.#process.runner.workers.apply({ ...NOTHING_DESIRED, ...desired });
  }

  /** Some time in the race. */
  sometime(what: string, run: () => void): void {
    void this.#scheduler.schedule(Promise.resolve(), what).then(run);
  }

  /** One after the other, until nobody waits for his turn. */
  async drain(): Promise<void> {
    await this.clock.settle();
    while (this.#scheduler.count() > 0) {
      await this.#scheduler.waitNext(1);
      await this.clock.settle();
    }
  }

  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      await this.clock.advance(1_000);
      await this.drain();
    }
  }

  running(): readonly string[] {
    return this.runtime.running().map(({ config }) => config.metadata?.name ?? "?");
  }

  uids(): ReadonlySet<string> {
    return new Set(this.runtime.running().map(({ config }) => config.labels[LABEL.podUID] ?? "?"));
  }

  /** What runs in the end is what the last order said, and nothing else is left. */
  expectLast(): void {
    expect(this.sins).toEqual([]);
    const [wanted] = this.#last;
    expect([...this.uids()]).toEqual(wanted === undefined ? [] : [wanted.uid]);
    const names = wanted?.pod.spec.containers.map(({ name }) => name) ?? [];
    expect(this.running().toSorted()).toEqual(names.toSorted());
    expect(this.#process.pods.workers.all().map(({ desired }) => desired.uid)).toEqual(
      wanted === undefined ? [] : [wanted.uid],
    );
    const sandboxes = [...this.runtime.sandboxes.values()];
    expect(sandboxes.map(({ config }) => config.labels[LABEL.podUID])).toEqual(
      wanted === undefined ? [] : [wanted.uid],
    );
  }

  [Symbol.dispose](): void {
    this.#process.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

const spec = {
  initContainers: [aContainer("init")],
  containers: [aContainer("a"), aContainer("b")],
  terminationGracePeriodSeconds: 1,
};
const v1 = pod("web", "1", spec);
const v2 = pod("web", "2", spec);

/** Before the race, and what two people order at the same time. */
const orders: Record<string, readonly [readonly DesiredPod[], readonly DesiredPod[][]]> = {
  "an addition and its removal": [[], [[v1], []]],
  "an edit and a removal": [[v1], [[v2], []]],
  "an edit and its taking back": [[v1], [[v2], [v1]]],
  "a removal and an addition": [[v1], [[], [v1]]],
};

describe("two orders at once", () => {
  test.each(Object.entries(orders))("%s: the later one counts", async (_, [before, race]) => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.boolean(), async (scheduler, isRunning) => {
        using world = new Race(scheduler);
        await world.start();
        world.order(before);
        // Half of the races begin when the pod stands, half while it comes up.
        if (isRunning) await world.drain();
        for (const pods of race) world.sometime("order", () => world.order(pods));
        world.sometime("exit", () => {
          const [first] = world.runtime.running();
          if (first !== undefined) world.runtime.exit(first.id, 1);
        });
        await world.drain();
        await world.pass(90);
        world.expectLast();
      }),
      { numRuns: 40, includeErrorInReport: true },
    );
  });
});
