// What a simulated world has seen: the words of its history, and the facts on which every judge relies.

import { ANNOTATION, LABEL } from "../../src/api/pod/labels.ts";
import type { SourceName } from "../../src/api/pod/desired-pod.ts";
import type { Clock, Monotonic } from "../../src/lib/clock.ts";
import { ContainerState } from "../../src/cri/gen/runtime/v1/api_pb.ts";
import type { FakeContainer, FakeSandbox } from "../fakes/fake-cri-world.ts";
import type { ExitCause, FakeRuntime } from "../fakes/fake-runtime.ts";
import type { SimAgent } from "./sim-agent.ts";
import type { SimContainer, SimSpec } from "./sim-specs.ts";

export interface LedgerOptions {
  readonly clock: Clock;
  readonly specs: ReadonlyMap<string, SimSpec>;
  readonly runtime: () => FakeRuntime;
  readonly agent: () => SimAgent | undefined;
}

export interface End {
  readonly at: Monotonic;
  readonly code: number;
  readonly cause: ExitCause;
}

/** Failures that are shown before the containers that still run have ended. */
const ENDING_REASONS: ReadonlySet<string> = new Set(["DeadlineExceeded", "SandboxLost"]);

export class Ledger {
  readonly #options: LedgerOptions;
  /** UIDs of pods that depend on others. */
  readonly dependents: readonly string[];
  readonly history: string[] = [];
  /** Sandboxes and containers of somebody else. */
  readonly foreign = new Set<string>();
  /** Container → number of the process that told it to start. */
  readonly startedBy = new Map<string, number>();
  readonly startedAt = new Map<string, Monotonic>();
  /** `uid/name` → highest attempt of those that were told to start. */
  readonly lastAttempts = new Map<string, number>();
  readonly ends = new Map<string, End>();
  /** UIDs whose removal was written down and not settled, by whichever process. */
  readonly leaving = new Set<string>();
  /** Those of them that were evicted. */
  readonly evicted = new Set<string>();
  /** Of the agent's processes the newest, and when it began. */
  process = 0;
  processSince = 0;
  bootedAt = 0;
  reboots = 0;
  #violation: string | undefined;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.dependents = [...options.specs.values()]
      .filter(({ dependsOn }) => dependsOn !== undefined)
      .map(({ uid }) => uid);
  }

  /** The first thing that must not be. */
  get violation(): string | undefined {
    return this.#violation;
  }

  get now(): Monotonic {
    return this.#options.clock.monotonic();
  }

  get runtime(): FakeRuntime {
    return this.#options.runtime();
  }

  get agent(): SimAgent | undefined {
    return this.#options.agent();
  }

  say(text: string): void {
    this.history.push(`${(this.now / 1_000).toFixed(3).padStart(9)} ${text}`);
  }

  accuse(text: string): void {
    this.say(`VIOLATION ${text}`);
    this.#violation ??= text;
  }

  spec(uid: string | undefined): SimSpec | undefined {
    return this.#options.specs.get(uid ?? "");
  }

  /** `web-2` for a UID. */
  key(uid: string | undefined): string {
    return this.spec(uid)?.key ?? String(uid);
  }

  /** `web-2/container/attempt (id)`. */
  nameOf(container: FakeContainer): string {
    const { name, attempt } = container.config.metadata ?? { name: "?", attempt: -1 };
    const { id, sandboxId } = container;
    return `${this.key(uidOf(container))}/${name}/${attempt} (${id} in ${sandboxId})`;
  }

  /** As its pod's spec has it. */
  own(container: FakeContainer | undefined): SimContainer | undefined {
    const name = container?.config.metadata?.name;
    return this.spec(uidOf(container))?.containers.find((one) => one.name === name);
  }

  isForeign({ id, sandboxId }: FakeContainer): boolean {
    return this.foreign.has(id) || this.foreign.has(sandboxId);
  }

  container(id: string): FakeContainer | undefined {
    return this.runtime.containers.get(id);
  }

  uidOfSandbox(id: string): string | undefined {
    return this.runtime.sandboxes.get(id)?.config.labels[LABEL.podUID];
  }

  /** Ours of this pod, the newest first. */
  sandboxesOf(uid: string): readonly FakeSandbox[] {
    const all = [...this.runtime.sandboxes.values()];
    return all.filter((one) => uidOf(one) === uid && !this.foreign.has(one.id)).toSorted(byAttempt);
  }

  /** The same of containers. */
  containersOf(uid: string): readonly FakeContainer[] {
    const all = [...this.runtime.containers.values()];
    return all.filter((one) => uidOf(one) === uid && !this.isForeign(one)).toSorted(byAttempt);
  }

  newest(uid: string, name: string): FakeContainer | undefined {
    return this.containersOf(uid).find(({ config }) => config.metadata?.name === name);
  }

  isAlive(container: FakeContainer): boolean {
    return this.runtime.isAlive(container.id);
  }

  /** How it ended: the runtime may say so a little later. */
  exitCode(container: FakeContainer): number | undefined {
    if (container.state === ContainerState.CONTAINER_EXITED) return container.exitCode;
    return this.isAlive(container) ? undefined : this.ends.get(container.id)?.code;
  }

  /** The newest of its name, alive, in the newest sandbox, which is ready. */
  isGood(container: FakeContainer): boolean {
    const uid = uidOf(container) ?? "";
    const [sandbox] = this.sandboxesOf(uid);
    if (sandbox?.ready !== true || sandbox.id !== container.sandboxId) return false;
    const name = container.config.metadata?.name ?? "";
    return this.isAlive(container) && this.newest(uid, name)?.id === container.id;
  }

  isLeaving(uid: string | undefined): boolean {
    return uid !== undefined && this.leaving.has(uid);
  }

  hasFailed(uid: string | undefined): boolean {
    return uid !== undefined && this.agent?.failureOf(uid) !== undefined;
  }

  /** Also of one that could not start. */
  onEnd({ id }: FakeContainer, end: Omit<End, "at">): void {
    this.ends.set(id, { at: this.now, ...end });
  }

  onStarting(container: FakeContainer): void {
    this.startedBy.set(container.id, this.process);
    const { name = "", attempt = 0 } = container.config.metadata ?? {};
    const key = `${uidOf(container)}/${name}`;
    this.lastAttempts.set(key, Math.max(attempt, this.lastAttempts.get(key) ?? 0));
  }

  /** In truth: a broker that says nothing has no document. */
  hasSpoken(source: SourceName): boolean {
    const { agent } = this;
    if (agent?.desired.ready.has(source) !== true) return false;
    return source !== "mqtt:node" || agent.store.documents.get(source) !== undefined;
  }

  /** The pod as the agent has it, with its spec. */
  known(uid: string) {
    return this.agent?.pods().find(({ desired }) => desired.uid === uid);
  }

  /** A document was the last that asked for it, it is shown as ended, and nothing of it runs but what its failure ends. */
  hasEndedForDocument(uid: string): boolean {
    const known = this.known(uid);
    const phase = known?.status?.phase;
    const isOver = phase === "Succeeded" || phase === "Failed";
    const isEnding = ENDING_REASONS.has(known?.status?.reason ?? "");
    const runs = this.containersOf(uid).some((container) => this.isAlive(container));
    return known?.desired.source === "mqtt:node" && isOver && (isEnding || !runs);
  }

  /** The agent has a file with another pod by its name. */
  isOutranked(uid: string): boolean {
    const name = this.spec(uid)?.name;
    const pods = this.agent?.desired.pods ?? [];
    return pods.some(({ source, pod }) => source === "file" && pod.metadata.name === name);
  }

  /** The sources that may end it: the one written on it when it was made, and the one that asked for it last. */
  ownSources(uid: string): readonly SourceName[] {
    const written = this.sandboxesOf(uid).map(
      ({ config }) => config.annotations[ANNOTATION.source] as SourceName,
    );
    const known = this.known(uid);
    return known === undefined ? written : [...written, known.desired.source];
  }
}

export function uidOf(thing: FakeContainer | FakeSandbox | undefined): string | undefined {
  return thing?.config.labels[LABEL.podUID];
}

/** namespace/name of its pod. */
export function podNameOf({ config: { labels } }: FakeContainer | FakeSandbox): string {
  return `${labels[LABEL.podNamespace]}/${labels[LABEL.podName]}`;
}

function byAttempt(a: FakeSandbox | FakeContainer, b: FakeSandbox | FakeContainer): number {
  return (b.config.metadata?.attempt ?? 0) - (a.config.metadata?.attempt ?? 0);
}
