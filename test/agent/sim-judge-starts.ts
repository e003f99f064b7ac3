// Judges starts: never two of one container, none without a cause, none before its time.

import type { Monotonic } from "../../src/lib/clock.ts";
import { RUN_SANDBOX_MS } from "../../src/cri/cri-client.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import { runsOnce } from "./sim-kubernetes.ts";
import { podNameOf, uidOf, type Ledger } from "./sim-ledger.ts";
import type { ProbeBook } from "./sim-judge-probes.ts";

/** One container name of one pod over all its lives. */
interface Record {
  starts: number;
  /** Ends that nobody ordered, or that had a cause. */
  exits: number;
  /** Restarts in a row by one process, of a container that ended by itself. */
  chain: number;
  restartedAt: Monotonic;
  /** How often it was made since it ended: one that is made again after a failure, or by a process that is dead by now, may count as a first start. */
  made: number;
  /** How often somebody has ordered it to start anew. */
  ordered: number;
  /** How the last instance ended. */
  end: { readonly at: Monotonic; readonly sandboxId: string } | undefined;
}

const RESET_MS = 600_000;
const FIRST_MS = 10_000;
const LONGEST_MS = 300_000;
/** Until an end is seen while the runtime answers. */
const SEEN_MS = 30_000;

export class StartJudge {
  readonly #ledger: Ledger;
  readonly #probes: ProbeBook;
  readonly #records = new Map<string, Record>();
  /** UID → removals begun. */
  readonly #begun = new Map<string, number>();
  readonly #sandboxDeaths = new Map<string, number>();
  /** Sandbox → number of the process in whose time it appeared; UID → of the one that last asked for a sandbox. */
  readonly #appeared = new Map<string, number>();
  readonly #asked = new Map<string, number>();
  /** UID → when sandboxes were asked for that have not appeared; refused ones stay among them. */
  readonly #asks = new Map<string, readonly Monotonic[]>();
  readonly #innocent = new Set<string>();

  constructor(ledger: Ledger, probes: ProbeBook) {
    this.#ledger = ledger;
    this.#probes = probes;
  }

  get starts(): number {
    return [...this.#records.values()].reduce((sum, { starts }) => sum + starts, 0);
  }

  get removals(): number {
    return [...this.#begun.values()].reduce((sum, many) => sum + many, 0);
  }

  livesOf(uid: string): { readonly ends: number; readonly starts: number } {
    const starts = this.#recordsOf(uid).reduce((sum, one) => sum + one.starts, 0);
    return { ends: this.#begun.get(uid) ?? 0, starts };
  }

  /** How often a container of that name has started in the pod. */
  startsOf(uid: string, name: string): number {
    return this.#records.get(`${uid}/${name}`)?.starts ?? 0;
  }

  onReboot(): void {
    for (const record of this.#records.values())
      Object.assign(record, { chain: 0, end: undefined });
  }

  /** Back-off is remembered by a process. */
  onNewProcess(): void {
    for (const record of this.#records.values()) Object.assign(record, { chain: 0, made: 1 });
  }

  onSandboxDeath(sandboxId: string): void {
    const uid = this.#ledger.uidOfSandbox(sandboxId);
    if (uid !== undefined) this.#sandboxDeaths.set(uid, (this.#sandboxDeaths.get(uid) ?? 0) + 1);
  }

  /** The runtime lost sight of it, or its end was ordered for a good reason: it may start again. */
  onCause(container: FakeContainer): void {
    this.#record(container).exits += 1;
  }

  /** Perhaps it is stopped for what it has read: then it did nothing wrong, and starts anew without any delay. */
  onConfigStop(container: FakeContainer): void {
    const record = this.#record(container);
    // One that has just ended by itself is taken for alive.
    Object.assign(record, { chain: 0, end: undefined });
    this.#innocent.add(container.id);
  }

  /** Perhaps it is stopped because somebody has ordered it: then it starts again, and at once, whatever its policy says. */
  onOrder(container: FakeContainer): void {
    this.#record(container).ordered += 1;
    this.onConfigStop(container);
  }

  onLost(container: FakeContainer): void {
    this.onCause(container);
    this.#record(container).end = undefined;
  }

  onBegin(uid: string): void {
    this.#begun.set(uid, (this.#begun.get(uid) ?? 0) + 1);
    for (const record of this.#recordsOf(uid)) record.chain = 0;
  }

  onSettle(uid: string): void {
    for (const record of this.#recordsOf(uid)) Object.assign(record, { chain: 0, end: undefined });
  }

  onAskSandbox(uid: string): void {
    this.#asked.set(uid, this.#ledger.process);
    this.#asks.set(uid, [...(this.#asks.get(uid) ?? []), this.#ledger.now]);
  }

  onCreate(uid: string, name: string): void {
    const record = this.#records.get(`${uid}/${name}`);
    if (record !== undefined) record.made += 1;
  }

  onCreatedSandbox(id: string): void {
    this.#appeared.set(id, this.#ledger.process);
    const uid = this.#ledger.uidOfSandbox(id);
    if (uid === undefined) return;
    const [first = 0, ...rest] = this.#asks.get(uid) ?? [];
    // Behind the deadline, or behind the end of who asked: it may push out one that is in use by then.
    const isLate = this.#ledger.now - first >= RUN_SANDBOX_MS || this.isLate(id);
    if (isLate) this.onSandboxDeath(id);
    this.#asks.set(uid, isLate ? rest : []);
  }

  onStarted(container: FakeContainer): void {
    const ledger = this.#ledger;
    ledger.say(`  starts ${ledger.nameOf(container)}`);
    const uid = uidOf(container) ?? "";
    for (const other of ledger.runtime.containers.values()) {
      if (other.id === container.id || !ledger.isAlive(other)) continue;
      if (ledger.isForeign(other) || podNameOf(other) !== podNameOf(container)) continue;
      if (uidOf(other) !== uid)
        ledger.accuse(`${ledger.nameOf(container)} starts beside ${ledger.nameOf(other)}`);
      else if (other.config.metadata?.name === container.config.metadata?.name)
        ledger.accuse(`${ledger.nameOf(container)} starts twice, beside ${ledger.nameOf(other)}`);
    }
    const record = this.#record(container);
    record.starts += 1;
    this.#countStarts(container, record);
    this.#checkBackoff(container, record);
  }

  onExited(container: FakeContainer, by: "self" | "call"): void {
    const record = this.#record(container);
    if (by === "self") record.exits += 1;
    record.made = 0;
    const { id, sandboxId } = container;
    const isGuilty = by === "self" || this.#probes.sentences(id).length > 0;
    const counts = isGuilty && !this.#innocent.has(id);
    record.end = counts ? { at: this.#ledger.now, sandboxId } : undefined;
  }

  /** Made by a process that was dead by then: nobody could know of it. */
  isLate(sandboxId: string): boolean {
    const asked = this.#asked.get(this.#ledger.uidOfSandbox(sandboxId) ?? "") ?? 0;
    return asked < (this.#appeared.get(sandboxId) ?? 0);
  }

  #countStarts(container: FakeContainer, { starts, exits, ordered }: Record): void {
    const uid = uidOf(container) ?? "";
    const { reboots } = this.#ledger;
    const name = this.#ledger.nameOf(container);
    const lives = 1 + (this.#begun.get(uid) ?? 0);
    const spec = this.#ledger.spec(uid);
    const own = this.#ledger.own(container);
    if (own?.role === "app" && spec !== undefined && runsOnce(spec, own)) {
      if (starts > lives + ordered)
        this.#ledger.accuse(`${name} starts ${starts} times in ${lives} lives`);
      return;
    }
    const causes = lives + exits + (this.#sandboxDeaths.get(uid) ?? 0) + reboots;
    if (starts > causes) this.#ledger.accuse(`${name} starts without a cause`);
  }

  /** First restart at once, then 10 s and doubling, within one process and one sandbox. */
  #checkBackoff(container: FakeContainer, record: Record): void {
    const { now, process, startedBy } = this.#ledger;
    const { end } = record;
    record.end = undefined;
    if (end === undefined || end.sandboxId !== container.sandboxId) return;
    const after = now - end.at;
    // While the runtime is away an end is seen late, and its time looks longer than it was; what starts later than its delay
    // may have had none, because it looked long enough to begin anew.
    const isLate = after > delayOf(record) + SEEN_MS;
    const seenAt = after < delayOf(record) || isLate ? now : now - delayOf(record);
    if (Math.max(end.at, seenAt) - record.restartedAt > RESET_MS) record.chain = 0;
    const delay = delayOf(record);
    const name = this.#ledger.nameOf(container);
    if (after < delay)
      this.#ledger.accuse(`${name} starts ${after} ms after its end, not ${delay}`);
    if (record.made !== 1 || startedBy.get(container.id) !== process) return;
    record.chain += 1;
    record.restartedAt = now;
  }

  #recordsOf(uid: string): readonly Record[] {
    return [...this.#records].filter(([key]) => key.startsWith(`${uid}/`)).map(([, one]) => one);
  }

  #record(container: FakeContainer): Record {
    const key = `${uidOf(container)}/${container.config.metadata?.name}`;
    const known = this.#records.get(key);
    if (known !== undefined) return known;
    const counts = { starts: 0, exits: 0, chain: 0, restartedAt: 0, made: 0, ordered: 0 };
    const record = { ...counts, end: undefined };
    this.#records.set(key, record);
    return record;
  }
}

function delayOf({ chain }: Record): number {
  return chain === 0 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (chain - 1));
}
