// One process of the agent in a simulated world, wired as agent/agent.ts wires it: watch, loop, pods.

import {
  NOTHING_DESIRED,
  type DesiredPod,
  type DesiredState,
  type SourceName,
  type SourceSnapshot,
} from "../../src/api/desired-pod.ts";
import type { Container } from "../../src/api/pod.ts";
import type { PodPhase } from "../../src/api/pod-status.ts";
import type { Removal } from "../../src/api/removal.ts";
import { RuntimeWatch } from "../../src/agent/runtime-watch.ts";
import { SyncLoop, type LoopEvent } from "../../src/agent/sync-loop.ts";
import { realFiles } from "../../src/host/real-files.ts";
import { messageOf } from "../../src/lib/errors.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { Mailbox } from "../../src/lib/mailbox.ts";
import type { Random } from "../../src/lib/random.ts";
import { mergeSnapshots, type Standing } from "../../src/source/pod-config.ts";
import type { Removals } from "../../src/store/removals.ts";
import { revocable } from "../fakes/fake-cri-revocable.ts";
import { RevocableClock } from "../fakes/fake-revocable-clock.ts";
import type { FakeRuntime } from "../fakes/fake-runtime.ts";
import { bootPods, type PodProcess } from "./pod-world.ts";
import { Mortal } from "./sim-mortal.ts";
import { SOURCES } from "./sim-specs.ts";

export interface SimAgentOptions {
  readonly clock: Clock;
  readonly bootedAt: number;
  readonly runtime: FakeRuntime;
  readonly random: Random;
  readonly directory: string;
  readonly image: (container: Container, clock: Clock, signal: AbortSignal) => Promise<string>;
  readonly onLine: (line: string) => void;
  /** A removal is about to be written down; throws when the disk is full. */
  readonly onBegin: (fresh: readonly Removal[], agent: SimAgent) => void;
  readonly onSettle: (uid: string) => void;
  readonly onPhase: (uid: string, phase: PodPhase) => void;
  /** A file is about to be touched; throws when the disk does not let it. */
  readonly onFile: (method: string) => void;
  readonly onLoopEnd: (error: unknown) => void;
}

export class SimAgent {
  readonly #options: SimAgentOptions;
  readonly #mortal: Mortal;
  readonly #process: PodProcess;
  readonly #mailbox = new Mailbox<LoopEvent>();
  readonly #snapshots = new Map<SourceName, SourceSnapshot>();
  #desired: DesiredState = NOTHING_DESIRED;
  #stopped = false;

  constructor(options: SimAgentOptions) {
    this.#options = options;
    const { runtime, random, directory } = options;
    const clock = new RevocableClock(options.clock, options.bootedAt);
    this.#mortal = new Mortal(() => this.#process.kill());
    const handle = revocable(this.#mortal.cri(runtime), runtime.events);
    this.#process = bootPods({
      clock,
      random,
      runtime: handle,
      files: this.#mortal.files(realFiles(), options.onFile),
      directory,
      write: options.onLine,
      ensureImage: (container, signal) => options.image(container, clock, signal),
      requireNetwork: () => watch.requireNetwork(),
      onPodChanged: (uid) => this.#mailbox.send({ type: "PodChanged", uid }),
      onStatusChanged: (uid) => {
        const phase = this.#process.pods.statuses.status(uid)?.phase;
        if (phase !== undefined) options.onPhase(uid, phase);
      },
      removals: (removals) => this.#mortal.removals(this.#watched(removals)),
    });
    const { log } = this.#process;
    const watch: RuntimeWatch = new RuntimeWatch({
      cri: handle.cri,
      clock,
      random,
      log,
      endpoint: "simulated",
      onFirst: () => this.#onRuntime(),
      onReturn: () => this.#process.pods.lifecycle.resubscribe(),
    });
    const { workers } = this.#process.pods;
    const loop = new SyncLoop({
      clock,
      log,
      mailbox: this.#mailbox,
      onSnapshot: (snapshot) => {
        this.#snapshots.set(snapshot.source, snapshot);
        this.#merge();
      },
      mayApply: () => SOURCES.every((source) => this.#snapshots.has(source)),
      apply: () => {
        this.#merge();
        workers.apply(this.#desired);
      },
      notify: (uid) => workers.notify(uid),
    });
    this.#endless(loop.run(this.#process.stop.signal));
    this.#endless(watch.run(this.#process.stop.signal));
  }

  get alive(): boolean {
    return this.#mortal.alive;
  }

  /** Dying, or told to end: a new process may take its place. */
  get isDoomed(): boolean {
    return this.#stopped || this.#mortal.isDoomed;
  }

  get pods(): PodProcess["pods"] {
    return this.#process.pods;
  }

  get removals(): readonly Removal[] {
    return this.#process.store.removals.all();
  }

  get databaseChanges(): number {
    return this.#process.store.database.totalChanges;
  }

  /** What it has taken in of its sources' words so far, merged. */
  get view(): DesiredState {
    return this.#desired;
  }

  isBeingRemoved(uid: string): boolean {
    return this.#process.store.removals.has(uid);
  }

  hear(snapshot: SourceSnapshot): void {
    if (!this.alive || this.#stopped) return;
    this.#mailbox.send({ type: "Snapshot", snapshot });
  }

  /** SIGTERM: what is under way may answer until the process is gone. */
  stop(): void {
    this.#stopped = true;
    if (this.alive) this.#process.stop.abort();
  }

  kill(acts = 0): void {
    this.#mortal.doom(acts);
  }

  #merge(): void {
    this.#desired = mergeSnapshots([...this.#snapshots.values()], {
      groupPriorities: new Map(),
      standing: (pod) => this.#standingOf(pod),
    });
  }

  #standingOf({ uid, pod: { metadata } }: DesiredPod): Standing {
    const { cache } = this.#process.pods;
    if (cache.get(uid) !== undefined) return 0;
    return [...cache.all().values()].some(({ name }) => name === metadata.name) ? 1 : 2;
  }

  async #onRuntime(): Promise<void> {
    const { lifecycle } = this.#process.pods;
    const { signal } = this.#process.stop;
    await lifecycle.relist(signal);
    this.#mailbox.send({ type: "RuntimeKnown" });
    this.#endless(lifecycle.runEvents(signal));
    this.#endless(lifecycle.runRelist(signal));
  }

  /** The agent would end with a loop that ends. */
  #endless(loop: Promise<void>): void {
    loop.then(
      () => {
        if (this.alive && !this.#stopped) this.#options.onLoopEnd("quietly");
      },
      (error: unknown) => {
        if (this.alive) this.#options.onLoopEnd(messageOf(error));
      },
    );
  }

  #watched(removals: Removals): Removals {
    const { onBegin, onSettle } = this.#options;
    const begin = (wanted: readonly Removal[]): void => {
      onBegin(
        wanted.filter(({ uid }) => !removals.has(uid)),
        this,
      );
      removals.begin(wanted);
    };
    const settle = (...args: Parameters<Removals["settle"]>): void => {
      onSettle(args[0]);
      removals.settle(...args);
    };
    return new Proxy(removals, {
      get: (target, name): unknown => {
        if (name === "begin") return begin;
        if (name === "settle") return settle;
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  }
}
