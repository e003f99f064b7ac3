// Watches a simulated world while it happens and knows what must never be.

import type { SourceName } from "../../src/api/desired-pod.ts";
import type { Removal } from "../../src/api/removal.ts";
import { ANNOTATION, LABEL } from "../../src/api/labels.ts";
import type { CreateContainerArgs, RunPodSandboxArgs } from "../../src/cri/cri-client.ts";
import type { Clock, Monotonic } from "../../src/lib/clock.ts";
import { RUN_SANDBOX_MS } from "../../src/cri/deadlines.ts";
import type { CallName } from "../fakes/fake-cri-faults.ts";
import type { FakeContainer, FakeSandbox } from "../fakes/fake-cri-world.ts";
import type { ExitCause, FakeRuntime } from "../fakes/fake-runtime.ts";
import type { TaskEvent } from "../../src/containerd/runtime-events.ts";
import type { SimAgent } from "./sim-agent.ts";
import type { SimSpec } from "./sim-specs.ts";

export interface JudgeOptions {
  readonly clock: Clock;
  readonly specs: ReadonlyMap<string, SimSpec>;
  readonly runtime: () => FakeRuntime;
  readonly agent: () => SimAgent | undefined;
  /** UIDs that would run if every source had spoken. */
  readonly wanted: () => ReadonlySet<string>;
  /** Another life of this pod begins, or ends. */
  readonly onNewLife: (uid: string) => void;
}

const CHANGING: ReadonlySet<CallName> = new Set<CallName>([
  "startContainer",
  "stopContainer",
  "removeContainer",
  "stopPodSandbox",
  "removePodSandbox",
]);

/** One container name of one pod over all its lives. */
interface Record {
  starts: number;
  /** Ends that nobody ordered. */
  exits: number;
  /** Restarts in a row by one process, of a container that ended by itself. */
  chain: number;
  restartedAt: Monotonic;
  /** How often it was made since it ended: one that is made again after a failure, or by a process that is dead by now, may count as a first start. */
  made: number;
  /** How the last instance ended. */
  end: { readonly at: Monotonic; readonly sandboxId: string } | undefined;
}

export class SimJudge {
  readonly #options: JudgeOptions;
  readonly history: string[] = [];
  /** Sandboxes and containers of somebody else. */
  readonly foreign = new Set<string>();
  readonly #records = new Map<string, Record>();
  /** UID → removals begun. */
  readonly #begun = new Map<string, number>();
  readonly #sandboxDeaths = new Map<string, number>();
  /** Sandbox → number of the process in whose time it appeared; UID → of the one that last asked for a sandbox. */
  readonly #appeared = new Map<string, number>();
  readonly #asked = new Map<string, number>();
  /** UID → when sandboxes were asked for that have not appeared; refused ones stay among them. */
  readonly #asks = new Map<string, readonly Monotonic[]>();
  /** Container → number of the process that told it to start. */
  readonly #startedBy = new Map<string, number>();
  #process = 0;
  #reboots = 0;
  #violation: string | undefined;

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /** The first thing that must not be. */
  get violation(): string | undefined {
    return this.#violation;
  }

  /** How many processes of the agent there have been. */
  get processes(): number {
    return this.#process;
  }

  get starts(): number {
    return [...this.#records.values()].reduce((sum, { starts }) => sum + starts, 0);
  }

  get removals(): number {
    return [...this.#begun.values()].reduce((sum, many) => sum + many, 0);
  }

  say(text: string): void {
    const seconds = (this.#options.clock.monotonic() / 1_000).toFixed(3);
    this.history.push(`${seconds.padStart(9)} ${text}`);
  }

  accuse(text: string): void {
    this.say(`VIOLATION ${text}`);
    this.#violation ??= text;
  }

  onReboot(): void {
    this.#reboots += 1;
    for (const record of this.#records.values())
      Object.assign(record, { chain: 0, end: undefined });
  }

  /** Back-off is remembered by a process. */
  onNewProcess(): void {
    this.#process += 1;
    for (const record of this.#records.values()) Object.assign(record, { chain: 0, made: 1 });
  }

  onSandboxDeath(sandboxId: string): void {
    const uid = this.#uidOfSandbox(sandboxId);
    if (uid !== undefined) this.#sandboxDeaths.set(uid, (this.#sandboxDeaths.get(uid) ?? 0) + 1);
  }

  /** The runtime lost sight of it: reason enough to start it again. */
  onLost(container: FakeContainer): void {
    const record = this.#record(container);
    record.exits += 1;
    record.end = undefined;
  }

  onBegin(fresh: readonly Removal[], agent: SimAgent): void {
    const view = agent.desired;
    // That one may end it, whoever else will want it.
    const ownSourceHasSpoken = (uid: string): boolean =>
      this.#ownSources(uid, agent).some((source) => view.ready.has(source));
    for (const { uid, why } of fresh) {
      const key = this.#key(uid);
      this.say(`  row ${key} ${why}`);
      this.#begun.set(uid, (this.#begun.get(uid) ?? 0) + 1);
      for (const record of this.#recordsOf(uid)) record.chain = 0;
      this.#options.onNewLife(uid);
      if (view.pods.some((pod) => pod.uid === uid))
        this.accuse(`removal of ${key} begun although it is wanted`);
      else if (this.#options.wanted().has(uid) && !ownSourceHasSpoken(uid))
        this.accuse(`removal of ${key} begun before its source has spoken`);
    }
  }

  /** The one written on it when it was made, and the one that asked for it last. */
  #ownSources(uid: string, agent: SimAgent): readonly SourceName[] {
    const written = [...this.#options.runtime().sandboxes.values()]
      .filter(({ id, config }) => !this.foreign.has(id) && config.labels[LABEL.podUID] === uid)
      .map(({ config }) => config.annotations[ANNOTATION.source] as SourceName);
    const known = agent.pods().filter(({ desired }) => desired.uid === uid);
    return [...written, ...known.map(({ desired }) => desired.source)];
  }

  onSettle(uid: string): void {
    this.say(`  settled ${this.#key(uid)}`);
    this.#options.onNewLife(uid);
    for (const record of this.#recordsOf(uid)) Object.assign(record, { chain: 0, end: undefined });
    const { sandboxes, containers } = this.#options.runtime();
    const left = [...sandboxes.values(), ...containers.values()].filter(
      ({ config }) => config.labels[LABEL.podUID] === uid,
    );
    const ids = left.map(({ id }) => id).filter((id) => !this.foreign.has(id) && !this.#isLate(id));
    if (ids.length > 0)
      this.accuse(`${this.#key(uid)} settled although ${ids.join(", ")} is there`);
  }

  onCall(call: CallName, args: readonly unknown[]): void {
    if (call === "runPodSandbox")
      this.#mayStart(call, (args[0] as RunPodSandboxArgs).config.metadata?.uid);
    if (call === "createContainer") this.#onCreate(args[0] as CreateContainerArgs);
    const [id] = args;
    if (typeof id !== "string" || !CHANGING.has(call)) return;
    if (this.foreign.has(id)) this.accuse(`${call} on ${id}, which is somebody else's`);
    if (call === "startContainer") {
      this.#startedBy.set(id, this.#process);
      this.#mayStart(call, uidOf(this.#container(id)));
    }
    if (call === "stopContainer") this.#onStop(id, args[1] as number);
    if (call === "removeContainer" && this.#options.runtime().isAlive(id)) this.#onLiveRemoved(id);
    if (call === "stopPodSandbox" || call === "removePodSandbox") this.#onSandboxEnd(call, id);
  }

  onEvent(event: TaskEvent, cause: ExitCause): void {
    if (event.type === "Created") this.#onCreated(event.id);
    const container = this.#container(event.id);
    if (container === undefined || this.#isForeign(container)) return;
    if (event.type === "Started") this.#onStarted(container);
    if (event.type !== "Exited") return;
    this.say(`  ${cause === "self" ? "exits" : "is ended"} ${this.#nameOf(container)}`);
    const record = this.#record(container);
    if (cause === "self") record.exits += 1;
    const at = this.#options.clock.monotonic();
    record.made = 0;
    record.end = cause === "self" ? { at, sandboxId: container.sandboxId } : undefined;
  }

  #onCreated(id: string): void {
    this.#appeared.set(id, this.#process);
    const uid = this.#uidOfSandbox(id);
    if (uid === undefined) return;
    const [first = 0, ...rest] = this.#asks.get(uid) ?? [];
    // Behind the deadline, or behind the end of who asked: it may push out one that is in use by then.
    const isLate = this.#options.clock.monotonic() - first >= RUN_SANDBOX_MS || this.#isLate(id);
    if (isLate) this.onSandboxDeath(id);
    this.#asks.set(uid, isLate ? rest : []);
  }

  #onStarted(container: FakeContainer): void {
    this.say(`  starts ${this.#nameOf(container)}`);
    const uid = uidOf(container) ?? "";
    const runtime = this.#options.runtime();
    for (const other of runtime.containers.values()) {
      if (other.id === container.id || !runtime.isAlive(other.id)) continue;
      if (this.#isForeign(other) || !sameName(other, container)) continue;
      if (uidOf(other) !== uid)
        this.accuse(`${this.#nameOf(container)} starts beside ${this.#nameOf(other)}`);
      else if (other.config.metadata?.name === container.config.metadata?.name)
        this.accuse(`${this.#nameOf(container)} starts twice, beside ${this.#nameOf(other)}`);
    }
    const record = this.#record(container);
    record.starts += 1;
    this.#countStarts(container, record);
    this.#checkBackoff(container, record);
  }

  #countStarts(container: FakeContainer, record: Record): void {
    const uid = uidOf(container) ?? "";
    const lives = 1 + (this.#begun.get(uid) ?? 0);
    const spec = this.#options.specs.get(uid);
    const { name } = container.config.metadata ?? {};
    const own = spec?.containers.find((one) => one.name === name);
    if (own?.role === "app" && (own.restartPolicy ?? spec?.restartPolicy) === "Never") {
      if (record.starts > lives)
        this.accuse(`${this.#nameOf(container)} starts ${record.starts} times in ${lives} lives`);
      return;
    }
    const causes = lives + record.exits + (this.#sandboxDeaths.get(uid) ?? 0) + this.#reboots;
    if (record.starts > causes) this.accuse(`${this.#nameOf(container)} starts without a cause`);
  }

  /** First restart at once, then 10 s and doubling, within one process and one sandbox. */
  #checkBackoff(container: FakeContainer, record: Record): void {
    const now = this.#options.clock.monotonic();
    const { end } = record;
    record.end = undefined;
    if (end === undefined || end.sandboxId !== container.sandboxId) return;
    if (end.at - record.restartedAt > 600_000) record.chain = 0;
    const delay = record.chain === 0 ? 0 : Math.min(300_000, 10_000 * 2 ** (record.chain - 1));
    if (now - end.at < delay)
      this.accuse(
        `${this.#nameOf(container)} starts ${now - end.at} ms after its end, not ${delay}`,
      );
    if (record.made === 1 && this.#startedBy.get(container.id) === this.#process) {
      record.chain += 1;
      record.restartedAt = now;
    }
  }

  /** Made by a process that was dead by then: nobody could know of it. */
  #isLate(id: string): boolean {
    const asked = this.#asked.get(this.#uidOfSandbox(id) ?? "") ?? 0;
    return asked < (this.#appeared.get(id) ?? 0);
  }

  #onCreate({ config, sandboxConfig }: CreateContainerArgs): void {
    const uid = sandboxConfig.metadata?.uid;
    const record = this.#records.get(`${uid}/${config.metadata?.name}`);
    if (record !== undefined) record.made += 1;
    this.#mayStart("createContainer", uid);
  }

  #mayStart(call: CallName, uid: string | undefined): void {
    if (uid === undefined || this.#options.agent() === undefined) return;
    if (call === "runPodSandbox") {
      this.#asked.set(uid, this.#process);
      this.#asks.set(uid, [...(this.#asks.get(uid) ?? []), this.#options.clock.monotonic()]);
    }
    this.say(`  ${call} ${this.#key(uid)}`);
    if (!this.#options.specs.has(uid))
      this.accuse(`${call} for a pod that nobody has written: ${uid}`);
    if (this.#options.agent()?.isBeingRemoved(uid) === true)
      this.accuse(`${call} for ${this.#key(uid)}, whose removal was ordered`);
  }

  #onStop(id: string, grace: number): void {
    const container = this.#container(id);
    if (container === undefined || this.foreign.has(id)) return;
    this.say(`  stopContainer ${this.#nameOf(container)} ${grace} s`);
    const written = container.config.annotations[ANNOTATION.gracePeriod];
    if (String(grace) !== written)
      this.accuse(`${this.#nameOf(container)} is given ${grace} s to stop, not ${written}`);
    if (this.#isGood(container) && !this.#isLeaving(uidOf(container)))
      this.accuse(`${this.#nameOf(container)} is stopped without a removal written down`);
  }

  /** One that a dead process told to start may start between the look and the removal. */
  #onLiveRemoved(id: string): void {
    const container = this.#container(id);
    if (container === undefined) return;
    if (this.#startedBy.get(id) === this.#process) this.accuse(`${id} is removed while it runs`);
    else this.#record(container).exits += 1;
  }

  #onSandboxEnd(call: CallName, id: string): void {
    const runtime = this.#options.runtime();
    const alive = [...runtime.containers.values()].filter(
      (one) => one.sandboxId === id && runtime.isAlive(one.id),
    );
    const uid = this.#uidOfSandbox(id);
    this.say(`  ${call} ${this.#key(uid)} ${id}`);
    if (alive.length === 0 || uid === undefined) return;
    const names = alive.map((one) => this.#nameOf(one)).join(", ");
    if (call === "removePodSandbox") this.accuse(`sandbox ${id} is removed while ${names} runs`);
    else if (this.#isLeaving(uid)) {
      // One that a dead process told to start may start behind the last look.
      if (alive.some((one) => this.#startedBy.get(one.id) === this.#process))
        this.accuse(`${names} gets no time to stop`);
    } else if (alive.some((one) => this.#isGood(one)))
      this.accuse(`${names} is stopped for nothing`);
  }

  /** The newest of its name, alive, in the newest sandbox, which is ready. */
  #isGood(container: FakeContainer): boolean {
    const { sandboxes, containers, isAlive } = bound(this.#options.runtime());
    const uid = uidOf(container);
    const own = [...sandboxes.values()].filter((one) => one.config.labels[LABEL.podUID] === uid);
    const newest = own.toSorted(byAttempt).at(-1);
    if (newest?.ready !== true || newest.id !== container.sandboxId) return false;
    const same = [...containers.values()].filter(
      (one) => uidOf(one) === uid && one.config.metadata?.name === container.config.metadata?.name,
    );
    return isAlive(container.id) && same.toSorted(byAttempt).at(-1)?.id === container.id;
  }

  #isLeaving(uid: string | undefined): boolean {
    return uid !== undefined && this.#options.agent()?.isBeingRemoved(uid) === true;
  }

  /** `web-2` for a UID. */
  #key(uid: string | undefined): string {
    return this.#options.specs.get(uid ?? "")?.key ?? String(uid);
  }

  /** `web-2/container/attempt (id)`. */
  #nameOf(container: FakeContainer): string {
    const { name, attempt } = container.config.metadata ?? { name: "?", attempt: -1 };
    const { id, sandboxId } = container;
    return `${this.#key(uidOf(container))}/${name}/${attempt} (${id} in ${sandboxId})`;
  }

  #isForeign({ id, sandboxId }: FakeContainer): boolean {
    return this.foreign.has(id) || this.foreign.has(sandboxId);
  }

  #container(id: string): FakeContainer | undefined {
    return this.#options.runtime().containers.get(id);
  }

  #uidOfSandbox(id: string): string | undefined {
    return this.#options.runtime().sandboxes.get(id)?.config.labels[LABEL.podUID];
  }

  #recordsOf(uid: string): readonly Record[] {
    return [...this.#records].filter(([key]) => key.startsWith(`${uid}/`)).map(([, one]) => one);
  }

  #record(container: FakeContainer): Record {
    const key = `${uidOf(container)}/${container.config.metadata?.name}`;
    const known = this.#records.get(key);
    if (known !== undefined) return known;
    const record = { starts: 0, exits: 0, chain: 0, restartedAt: 0, made: 0, end: undefined };
    this.#records.set(key, record);
    return record;
  }
}

function bound(runtime: FakeRuntime) {
  const { sandboxes, containers } = runtime;
  return { sandboxes, containers, isAlive: (id: string) => runtime.isAlive(id) };
}

export function uidOf(container: FakeContainer | undefined): string | undefined {
  return container?.config.labels[LABEL.podUID];
}

function sameName(a: FakeContainer, b: FakeContainer): boolean {
  const full = ({ config: { labels } }: FakeContainer): string =>
    `${labels[LABEL.podNamespace]}/${labels[LABEL.podName]}`;
  return full(a) === full(b);
}

function byAttempt(a: FakeSandbox | FakeContainer, b: FakeSandbox | FakeContainer): number {
  return (a.config.metadata?.attempt ?? 0) - (b.config.metadata?.attempt ?? 0);
}
