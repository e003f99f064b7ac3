// Judges ends: nobody is stopped for nothing, before his turn, without his hook, or with less time than he was promised.

import type { Monotonic } from "../../src/lib/clock.ts";
import { RELIST_MS } from "../../src/pleg/relist.ts";
import type { CallName } from "../fakes/fake-cri-faults.ts";
import type { FakeContainer } from "../fakes/fake-cri-world.ts";
import type { ConfigJudge } from "./sim-judge-config.ts";
import type { OrderJudge } from "./sim-judge-orders.ts";
import { isThrough, neverBegins } from "./sim-kubernetes.ts";
import { uidOf, type Ledger } from "./sim-ledger.ts";
import type { ProbeBook } from "./sim-judge-probes.ts";
import { FILES_WAIT_SECONDS, fitTogether } from "./sim-room.ts";
import type { SimContainer, SimSpec } from "./sim-specs.ts";

export interface StopJudgeOptions {
  readonly ledger: Ledger;
  readonly probes: ProbeBook;
  readonly config: ConfigJudge;
  readonly orders: OrderJudge;
  /** For so long after an exit it cannot be known. */
  readonly unseenMs: number;
  /** Whether the event of its exit was lost: that comes to light with the next list. */
  readonly isUntold: (id: string) => boolean;
  /** Its end was ordered for a good reason. */
  readonly onCause: (container: FakeContainer) => void;
  /** The reason may be what it has read. */
  readonly onConfigStop: (container: FakeContainer) => void;
  /** The reason may be that somebody has ordered it. */
  readonly onOrder: (container: FakeContainer) => void;
}

/** Why a container may be stopped. */
interface Reason {
  /** The whole pod ends, in order. */
  readonly orderly: boolean;
  /** When the order can have been given at the earliest. */
  readonly since: Monotonic;
  /** Seconds that it gets; the longest of several. */
  readonly most: number;
  readonly least: number;
}

/** kubelet: immediateEvictionGracePeriodSeconds */
const EVICTED_SECONDS = 1;
/** However much a hook took. */
const LEAST_SECONDS = 2;
/** So long a sidecar waits beyond its own time for those before it. */
const LATE_TURN_MS = 3_000;
/** Longest time between two lists, with its jitter. */
const LISTS_MS = 1.1 * RELIST_MS;

export class StopJudge {
  readonly #options: StopJudgeOptions;
  readonly #ledger: Ledger;
  readonly #probes: ProbeBook;
  /** UIDs of pods that a file's pod waited for when their removal began: who has less time keeps it. */
  readonly #hurried = new Set<string>();
  /** UID → when its removal was written down. */
  readonly #removedAt = new Map<string, Monotonic>();
  readonly #failedAt = new Map<string, Monotonic>();
  /** UID → when the first of it was told to stop since the last of it started. */
  readonly #stoppingSince = new Map<string, Monotonic>();
  /** Container → the process that last told it to stop. */
  readonly #told = new Map<string, number>();

  constructor(options: StopJudgeOptions) {
    this.#options = options;
    this.#ledger = options.ledger;
    this.#probes = options.probes;
  }

  onBegin(uid: string): void {
    this.#removedAt.set(uid, this.#ledger.now);
    const spec = this.#ledger.spec(uid);
    if (spec !== undefined && this.#filesWaitFor(spec)) this.#hurried.add(uid);
  }

  onFailure(uid: string): void {
    this.#failedAt.set(uid, this.#ledger.now);
  }

  onStarted(uid: string): void {
    this.#stoppingSince.delete(uid);
    this.#hurried.delete(uid);
  }

  onStop(container: FakeContainer, grace: number): void {
    const ledger = this.#ledger;
    const name = ledger.nameOf(container);
    ledger.say(`  stopContainer ${name} ${grace} s`);
    const spec = ledger.spec(uidOf(container));
    const own = ledger.own(container);
    const isFirst = this.#told.get(container.id) !== ledger.process;
    const wasTold = this.#told.has(container.id);
    this.#told.set(container.id, ledger.process);
    if (spec === undefined || own === undefined) return;
    const reason = this.#reasonFor(spec, container);
    if (!this.#stoppingSince.has(spec.uid)) this.#stoppingSince.set(spec.uid, ledger.now);
    if (reason === undefined) {
      if (ledger.isGood(container)) ledger.accuse(`${name} is stopped without a recorded removal`);
      return;
    }
    if (!wasTold) this.#noteCause(container, reason);
    this.#mustGetItsTime({ container, spec, own, reason }, grace);
    if (!ledger.isAlive(container)) return;
    this.#mustHaveItsHook(container, own, grace);
    if (isFirst && reason.orderly && own.role === "sidecar")
      this.#mustBeLast({ container, spec, own, reason });
  }

  onSandboxEnd(call: CallName, id: string): void {
    const ledger = this.#ledger;
    const uid = ledger.uidOfSandbox(id);
    ledger.say(`  ${call} ${ledger.key(uid)} ${id}`);
    if (uid === undefined) return;
    const alive = ledger.containersOf(uid).filter((one) => {
      return one.sandboxId === id && ledger.isAlive(one);
    });
    if (alive.length === 0) return;
    const names = alive.map((one) => ledger.nameOf(one)).join(", ");
    if (call === "removePodSandbox")
      return ledger.accuse(`sandbox ${id} is removed while ${names} runs`);
    // One that a dead process told to start may start behind the last look.
    const isLate = alive.every((one) => ledger.startedBy.get(one.id) !== ledger.process);
    if (ledger.isLeaving(uid) || ledger.hasFailed(uid)) {
      if (!isLate) ledger.accuse(`${names} gets no time to stop`);
    } else if (alive.some((one) => ledger.isGood(one)))
      ledger.accuse(`${names} is stopped for nothing`);
  }

  /** It will start once more, and may do so because what it reads has changed. */
  #noteCause(container: FakeContainer, { orderly }: Reason): void {
    const { config, orders, onCause, onConfigStop, onOrder } = this.#options;
    const isOld = config.mayRestart(container);
    const isOrdered = this.#isOrdered(container);
    if (!orderly || isOld || isOrdered) onCause(container);
    if (isOrdered) {
      orders.onStop(container, this.#stopBegan(container));
      onOrder(container);
    }
    if (!isOld) return;
    onConfigStop(container);
    // It may have been decided before the pod came to its end.
    if (orderly || isOrdered) return;
    const hasOther = this.#probes.sentences(container.id).length > 0;
    if (!hasOther && this.#ledger.isGood(container)) config.onStop(container);
  }

  #reasonFor(spec: SimSpec, container: FakeContainer): Reason | undefined {
    const { grace } = spec;
    const sentences = this.#probes.sentences(container.id);
    const graces = sentences.map((one) => one.grace ?? grace);
    const orderly = this.#endOf(spec);
    if (orderly !== undefined) {
      const { since, least } = orderly;
      const isOnItsWay = this.#told.has(container.id);
      const most = Math.max(grace, ...graces);
      const shortest = isOnItsWay ? Math.min(grace, ...graces, least) : Math.min(grace, least);
      return { orderly: true, since, most, least: shortest };
    }
    const isGood = this.#ledger.isGood(container);
    const isOld = this.#mayRestart(container);
    if (isGood && sentences.length === 0 && !isOld) return undefined;
    const since = Math.min(this.#ledger.processSince, ...sentences.map(({ at }) => at));
    // One that is in the way, or has read what is no more, may be ended for that alone.
    const all = isGood && !isOld ? graces : [grace, ...graces];
    return { orderly: false, since, most: Math.max(...all), least: Math.min(...all) };
  }

  /** When and why the pod as a whole has come to its end. */
  #endOf(spec: SimSpec): Pick<Reason, "since" | "least"> | undefined {
    const { uid, grace } = spec;
    const ledger = this.#ledger;
    const times: Monotonic[] = [];
    if (ledger.isLeaving(uid)) times.push(this.#removedAt.get(uid) ?? 0);
    if (ledger.hasFailed(uid)) times.push(this.#failedAt.get(uid) ?? 0);
    const codes = ({ name }: SimContainer): number | undefined => {
      const newest = ledger.newest(uid, name);
      return newest === undefined ? undefined : ledger.exitCode(newest);
    };
    if (isThrough(spec, codes) || neverBegins(spec, codes)) {
      const others = ledger.containersOf(uid).filter((one) => ledger.own(one)?.role !== "sidecar");
      // Where only the agent's own stops have brought it to its end (its sandbox is gone), their time began before that.
      const isOwnEnd = times.length === 0 && others.some(({ id }) => this.#told.has(id));
      times.push(
        isOwnEnd ? 0 : Math.max(0, ...others.map(({ id }) => ledger.ends.get(id)?.at ?? 0)),
      );
    }
    if (times.length === 0) return undefined;
    // It may have been ending for another reason before.
    times.push(this.#stoppingSince.get(uid) ?? ledger.now);
    const hurried =
      this.#hurried.has(spec.uid) || this.#filesWaitFor(spec)
        ? Math.min(grace, FILES_WAIT_SECONDS)
        : grace;
    const least = ledger.evicted.has(uid) ? Math.min(hurried, EVICTED_SECONDS) : hurried;
    return { since: Math.max(ledger.processSince, Math.min(...times)), least };
  }

  /** A pod of a file waits for the place of this one, which is of a document. */
  #filesWaitFor(spec: SimSpec): boolean {
    const ledger = this.#ledger;
    if (ledger.ownSources(spec.uid).every((source) => source === "file")) return false;
    const files = ledger.agent?.desired.pods.filter(({ source }) => source === "file") ?? [];
    // Of a pod that leaves, a new process knows no spec: it may have the port that a file's pod needs.
    const isUnknown = ledger.known(spec.uid) === undefined;
    return files
      .flatMap(({ uid }) => ledger.spec(uid) ?? [])
      .some(
        (file) =>
          file.name === spec.name ||
          !fitTogether(file, spec) ||
          (isUnknown && file.hostPort !== undefined),
      );
  }

  #mustGetItsTime({ container, own, reason }: Case, grace: number): void {
    const { accuse, name, now } = this.#bound(container);
    const { most, least } = reason;
    if (grace > most) accuse(`${name} is given ${grace} s to stop, not ${most}`);
    const left = Math.ceil(least - this.#spentMs(container, own, now - reason.since) / 1_000);
    const promised = Math.max(left, Math.min(least, LEAST_SECONDS));
    if (grace < promised) accuse(`${name} is given ${grace} s to stop, not ${promised}`);
  }

  /** What its hook, or waiting for its turn, may have used up. */
  #spentMs({ id }: FakeContainer, { role, hooks }: SimContainer, sinceOrder: number): number {
    const { how } = hooks.preStop ?? {};
    const calledAt = this.#probes.preStopAt(id);
    const waited = role === "sidecar" ? sinceOrder : 0;
    if (how === undefined) return waited;
    if (typeof how !== "string") return Math.max(waited, how.sleep * 1_000);
    return calledAt === undefined ? sinceOrder : Math.max(waited, this.#ledger.now - calledAt);
  }

  #mustHaveItsHook(container: FakeContainer, { hooks }: SimContainer, grace: number): void {
    const { accuse, name } = this.#bound(container);
    if (hooks.preStop?.how !== "exec" || grace === 0) return;
    if (this.#probes.preStopAt(container.id) === undefined)
      accuse(`${name} is stopped without its preStop hook`);
  }

  /** Sidecars stop when those they serve are gone, or had their time; the last to start first. */
  #mustBeLast({ container, spec, own, reason }: Case): void {
    const { accuse, name, now } = this.#bound(container);
    const most = Math.min(spec.grace, reason.least);
    const waits = most === 0 ? 0 : most * 1_000 + LATE_TURN_MS;
    if (now - reason.since >= waits) return;
    const position = spec.containers.indexOf(own);
    const served = this.#ledger.containersOf(spec.uid).find((other) => {
      const theirs = this.#ledger.own(other);
      if (theirs === undefined || theirs === own || !this.#ledger.isAlive(other)) return false;
      // One that a dead process told to start, or that started late, is nobody's plan.
      if (this.#ledger.startedBy.get(other.id) !== this.#ledger.process) return false;
      if ((this.#ledger.startedAt.get(other.id) ?? 0) > reason.since) return false;
      return theirs.role !== "sidecar" || spec.containers.indexOf(theirs) > position;
    });
    if (served !== undefined && !this.#restartsAlone({ container, spec, own, reason }))
      accuse(`${name} is stopped before ${this.#ledger.nameOf(served)}`);
  }

  /** It was about to read something new, or was ordered to restart, when the end of its pod came or could not be known yet. */
  #restartsAlone({ container, spec, reason: { since } }: Case): boolean {
    const { config, unseenMs, isUntold } = this.#options;
    const ledger = this.#ledger;
    const { uid } = spec;
    const removedAt = this.#removedAt.get(uid) ?? 0;
    if (removedAt === ledger.now) return config.mayRestart(container);
    // A stop under way goes on: its hook was at work when the removal came.
    if (ledger.isLeaving(uid) && this.#stopBegan(container) <= removedAt)
      return this.#mayRestart(container);
    if (ledger.isLeaving(uid) || ledger.hasFailed(uid)) return false;
    const listedMs = ledger.containersOf(uid).some(({ id }) => isUntold(id)) ? LISTS_MS : 0;
    const isUnseen = ledger.now - since <= Math.max(unseenMs, listedMs);
    return isUnseen && this.#mayRestart(container);
  }

  /** What it has read has changed, or somebody has ordered it to restart. */
  #mayRestart(container: FakeContainer): boolean {
    return this.#options.config.mayRestart(container) || this.#isOrdered(container);
  }

  /** The answer to the order may have come while its hook was at work. */
  #isOrdered(container: FakeContainer): boolean {
    return this.#options.orders.mayRestart(container, this.#stopBegan(container));
  }

  /** When its preStop hook began, which has come to its end just now, or has used up its time; without one, now. */
  #stopBegan(container: FakeContainer): Monotonic {
    const { now } = this.#ledger;
    const how = this.#ledger.own(container)?.hooks.preStop?.how;
    if (how === undefined) return now;
    if (typeof how === "string") return this.#probes.preStopAt(container.id) ?? now;
    const grace = this.#ledger.spec(uidOf(container))?.grace ?? 0;
    return now - Math.min(how.sleep, grace) * 1_000;
  }

  #bound(container: FakeContainer) {
    const ledger = this.#ledger;
    const accuse = (text: string): void => ledger.accuse(text);
    return { accuse, name: ledger.nameOf(container), now: ledger.now };
  }
}

interface Case {
  readonly container: FakeContainer;
  readonly spec: SimSpec;
  readonly own: SimContainer;
  readonly reason: Reason;
}
