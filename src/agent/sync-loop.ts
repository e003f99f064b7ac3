// Performs: one loop owns the order: what sources want and what the runtime shows go through here, one after the other.
// kubelet: syncLoop

import type { SourceSnapshot } from "../api/pod/desired-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import type { Mailbox } from "../lib/mailbox.ts";

export type LoopEvent =
  /** A source speaks; its snapshot replaces the one before. */
  | { readonly type: "Snapshot"; readonly snapshot: SourceSnapshot }
  /** The runtime shows something new of this pod. */
  | { readonly type: "PodChanged"; readonly uid: PodUID }
  /** A pod is gone: another one may have room now. */
  | { readonly type: "RoomChanged" }
  /** How an update stands may have changed. */
  | { readonly type: "Review" }
  /** The first complete list of the runtime is in: from now on acting is allowed. */
  | { readonly type: "RuntimeKnown" };

export interface SyncLoopOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly mailbox: Mailbox<LoopEvent>;
  readonly onSnapshot: (snapshot: SourceSnapshot) => void;
  /** Whether every local source has said its first word. */
  readonly mayApply: () => boolean;
  /** Bring the workers in line with what is desired now. */
  readonly apply: () => void;
  readonly notify: (uid: PodUID) => void;
  /** Looks at updates; true = bring the workers in line. */
  readonly review: () => boolean;
}

/** Without an event for this long the loop turns all the same: a failed apply is tried again. kubelet: housekeeping */
const TURN_MS = 10_000;
const STUCK_MS = 120_000;

export class SyncLoop {
  readonly #options: SyncLoopOptions;
  #turnedAt: Monotonic;
  #runtimeKnown = false;
  #owesApply = false;
  #hasApplied = false;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#turnedAt = options.clock.monotonic();
  }

  /** Every pod that is wanted, and every one that is there, has its worker: before that, what is missing says nothing. */
  get hasApplied(): boolean {
    return this.#hasApplied;
  }

  /** undefined = healthy, else the sentence for /healthz. */
  unhealthy(): string | undefined {
    const age = this.#options.clock.monotonic() - this.#turnedAt;
    if (age <= STUCK_MS) return undefined;
    return `sync loop: has not turned for ${Math.round(age / 1000)} s`;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, mailbox } = this.#options;
    while (!signal.aborted) {
      const turn = new AbortController();
      const timer = clock.after(TURN_MS, () => turn.abort());
      const event = await mailbox.receive(AbortSignal.any([signal, turn.signal]));
      timer[Symbol.dispose]();
      if (signal.aborted) return;
      this.#turnedAt = clock.monotonic();
      this.#take(event === undefined ? [] : [event, ...mailbox.drain()]);
    }
  }

  #take(events: readonly LoopEvent[]): void {
    let isDue = false;
    for (const event of events) {
      switch (event.type) {
        case "Snapshot":
          // One by one: a pod that was dropped and added again between two looks has ended a life.
          this.#guard("cannot take in what a source says", () =>
            this.#options.onSnapshot(event.snapshot),
          );
          this.#apply();
          break;
        case "RuntimeKnown":
          this.#runtimeKnown = true;
          this.#apply();
          break;
        case "RoomChanged":
          this.#apply();
          break;
        case "Review":
          isDue = true;
          break;
        case "PodChanged":
          if (this.#runtimeKnown) this.#tell(event.uid);
          break;
      }
    }
    // Once for all of this turn.
    if (isDue)
      this.#guard("cannot look at updates", () => {
        if (this.#options.review()) this.#owesApply = true;
      });
    if (this.#owesApply) this.#apply();
  }

  /** A removal that cannot be written down does not begin: it is tried again at the next turn. */
  #apply(): void {
    this.#owesApply = true;
    if (!this.#runtimeKnown || !this.#options.mayApply()) return;
    try {
      this.#options.apply();
      this.#owesApply = false;
      this.#hasApplied = true;
    } catch (error) {
      this.#options.log.error("cannot act on what is desired", { error: messageOf(error) });
    }
  }

  #tell(uid: PodUID): void {
    this.#guard("cannot act on a change of a pod", () => this.#options.notify(uid));
  }

  /** What cannot be done now is tried again with the next apply. */
  #guard(what: string, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#owesApply = true;
      this.#options.log.error(what, { error: messageOf(error) });
    }
  }
}
