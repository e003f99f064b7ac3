// Judges evictions: of nobody without need, of pods of unsigned documents before others, and nothing begins anew while the
// node is short of what it would take, or before it may.

import type { Monotonic } from "../../src/lib/clock.ts";
import type { ImageJudge } from "./sim-judge-images.ts";
import type { Ledger } from "./sim-ledger.ts";
import type { Shortage } from "./sim-pressure.ts";

export interface PressureJudgeOptions {
  readonly ledger: Ledger;
  /** Whether documents of this world are signed. */
  readonly signed: () => boolean;
  readonly images: Pick<ImageJudge, "removable">;
  /** Whether images have a file system of their own. */
  readonly ownImageFs: boolean;
}

/** The agent looks every ten seconds, and a start may be under way. */
const NOTICED_MS = 30_000;
/** A pod that has run for so long is known to whoever picks one. */
const KNOWN_MS = 20_000;
const BACKOFF_MS = 30_000;

export class PressureJudge {
  readonly #options: PressureJudgeOptions;
  readonly #since = new Map<Shortage, Monotonic>();
  /** UID → when, and by which process. */
  readonly #evicted = new Map<string, { readonly at: Monotonic; readonly process: number }>();
  /** Since when it answers what room its images have. */
  #runtimeSince = 0;
  /** When the agent last tried in vain to remove images, for the runtime did not answer. */
  #inVainAt: Monotonic | undefined;
  evictions = 0;

  constructor(options: PressureJudgeOptions) {
    this.#options = options;
  }

  onShortage(of: Shortage, short: boolean): void {
    if (!short) this.#since.delete(of);
    else if (!this.#since.has(of)) this.#since.set(of, this.#options.ledger.now);
  }

  onRuntimeStart(): void {
    this.#runtimeSince = this.#options.ledger.now;
  }

  onImagesStay(): void {
    this.#inVainAt = this.#options.ledger.now;
  }

  onCalm(): void {
    this.#since.clear();
  }

  /** Before its removal is written down, if it can be. */
  onEvict(uid: string): void {
    const { ledger } = this.#options;
    const { now, process } = ledger;
    this.evictions += 1;
    this.#evicted.set(uid, { at: now, process });
    const key = ledger.key(uid);
    ledger.say(`  evicts ${key}`);
    if (this.#since.size === 0) ledger.accuse(`${key} is evicted although nothing is short`);
    // As in the kubelet, pods go where a runtime in trouble keeps its images.
    const mustRemove = this.#isForImages() && this.#inVainAt !== now;
    const image = mustRemove ? this.#options.images.removable() : undefined;
    if (image !== undefined) ledger.accuse(`${key} is evicted before ${image} is removed`);
    if (this.#isUnsigned(uid)) return;
    const before = ledger.agent
      ?.pods()
      .map(({ desired }) => desired.uid)
      .find((other) => other !== uid && this.#isUnsigned(other) && this.#couldGo(other));
    if (before !== undefined)
      ledger.accuse(`${key} is evicted before ${ledger.key(before)} of an unsigned document`);
  }

  /** Only the file system on which the images are is short. */
  #isForImages(): boolean {
    const { ownImageFs } = this.#options;
    return this.#since.size === 1 && this.#since.has(ownImageFs ? "images" : "disk");
  }

  /** The database is gone, and with it which pods wait. */
  onLostDatabase(): void {
    this.#evicted.clear();
  }

  onAskSandbox(uid: string): void {
    const { ledger } = this.#options;
    const spec = ledger.spec(uid);
    if (spec === undefined) return;
    const evicted = this.#evicted.get(uid);
    // A record that a full disk refused goes with its process.
    const isRecorded = evicted?.process === ledger.process;
    if (evicted !== undefined && isRecorded && ledger.now - evicted.at < BACKOFF_MS)
      ledger.accuse(`${spec.key} begins ${ledger.now - evicted.at} ms after its eviction`);
    // What is there already goes on, with another sandbox if it must.
    if (ledger.sandboxesOf(uid).length > 0 || ledger.containersOf(uid).length > 0) return;
    // Critical pods start whatever is short.
    if (spec.critical === true) return;
    const isBestEffort = (spec.cpu ?? 0) === 0;
    for (const [of, since] of this.#since) {
      if (of === "memory" && !isBestEffort) continue;
      const answers = of === "images" ? this.#runtimeSince : 0;
      const seenSince = Math.max(since, ledger.processSince, answers);
      if (ledger.now - seenSince > NOTICED_MS)
        ledger.accuse(`${spec.key} begins while ${of} is short`);
    }
  }

  #isUnsigned(uid: string): boolean {
    const { ledger, signed } = this.#options;
    if (signed()) return false;
    const sources = ledger.agent?.pods().filter(({ desired }) => desired.uid === uid) ?? [];
    return sources.length > 0 && sources.every(({ desired }) => desired.source !== "file");
  }

  #couldGo(uid: string): boolean {
    const { ledger } = this.#options;
    if (ledger.isLeaving(uid) || ledger.hasFailed(uid)) return false;
    return ledger
      .containersOf(uid)
      .some(
        (one) => ledger.isGood(one) && ledger.now - (ledger.startedAt.get(one.id) ?? 0) > KNOWN_MS,
      );
  }
}
