// Performs: the agent's one loop: snapshots of sources and changes of pods are handled here, one after the other. It is
// built before every room, so that each can send to it. kubelet: syncLoop

import type { Edges } from "../edges.ts";
import type { SourceSnapshot } from "../api/pod/desired-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { Mailbox } from "../lib/mailbox.ts";

type LoopEvent =
  /** Replaces the snapshot of its source. */
  | { readonly type: "Snapshot"; readonly snapshot: SourceSnapshot }
  /** The runtime shows a change of this pod, or what it reads has changed. */
  | { readonly type: "PodChanged"; readonly uid: PodUID }
  /** A pod is gone: another one may have room now. */
  | { readonly type: "RoomChanged" }
  /** The judgement of an update may have changed. */
  | { readonly type: "Review" }
  /** The first complete list of the runtime is in: from now on acting is allowed. */
  | { readonly type: "RuntimeKnown" };

interface SyncLoopOptions extends Pick<Edges, "clock" | "log"> {}

/** What the loop calls; built last. kubelet: SyncHandler */
export interface SyncHandler {
  readonly onSnapshot: (snapshot: SourceSnapshot) => void;
  /** Whether every local source has sent a snapshot. */
  readonly mayApply: () => boolean;
  /**
   * Brings the workers in line with what is desired now. `isMerged`: a snapshot was merged just before, and nothing has
   * changed since; a merge looks at every pod.
   */
  readonly apply: (isMerged: boolean) => void;
  readonly notify: (uid: PodUID) => void;
  /** Reviews updates; true = `apply` is due. */
  readonly review: () => boolean;
}

/** Without an event for this long the loop turns all the same: a failed apply is retried. kubelet: housekeeping */
const TURN_MS = 10_000;
const STUCK_MS = 120_000;

export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #mailbox = new Mailbox<LoopEvent>();
  #turnedAt: Monotonic;
  #runtimeKnown = false;
  #owesApply = false;
  #hasApplied = false;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#turnedAt = options.clock.monotonic();
  }

  readonly snapshot = (snapshot: SourceSnapshot): void =>
    this.#mailbox.send({ type: "Snapshot", snapshot });

  readonly podChanged = (uid: PodUID): void => this.#mailbox.send({ type: "PodChanged", uid });

  readonly roomChanged = (): void => this.#mailbox.send({ type: "RoomChanged" });

  readonly review = (): void => this.#mailbox.send({ type: "Review" });

  readonly runtimeKnown = (): void => this.#mailbox.send({ type: "RuntimeKnown" });

  /** Every desired pod, and every pod of the runtime, has its worker; before that, an absent worker means nothing. */
  get hasApplied(): boolean {
    return this.#hasApplied;
  }

  /** undefined = healthy, else the sentence for /healthz. */
  unhealthy(): string | undefined {
    const age = this.#options.clock.monotonic() - this.#turnedAt;
    if (age <= STUCK_MS) return undefined;
    return `sync loop: has not turned for ${Math.round(age / 1000)} s`;
  }

  async run(handler: SyncHandler, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const turn = new AbortController();
      const timer = clock.after(TURN_MS, () => turn.abort());
      const event = await this.#mailbox.receive(AbortSignal.any([signal, turn.signal]));
      timer[Symbol.dispose]();
      if (signal.aborted) return;
      this.#turnedAt = clock.monotonic();
      this.#handle(event === undefined ? [] : [event, ...this.#mailbox.drain()], handler);
    }
  }

  #handle(events: readonly LoopEvent[], handler: SyncHandler): void {
    let isReviewDue = false;
    for (const event of events) {
      switch (event.type) {
        case "Snapshot":
          // One by one: a pod that was dropped and added again between two looks has ended a life.
          this.#apply(
            handler,
            this.#guard("cannot take in a source's snapshot", () =>
              handler.onSnapshot(event.snapshot),
            ),
          );
          break;
        case "RuntimeKnown":
          this.#runtimeKnown = true;
          this.#apply(handler);
          break;
        case "RoomChanged":
          this.#apply(handler);
          break;
        case "Review":
          isReviewDue = true;
          break;
        case "PodChanged":
          if (this.#runtimeKnown)
            this.#guard("cannot act on a change of a pod", () => handler.notify(event.uid));
          break;
      }
    }
    // Once per turn.
    if (isReviewDue)
      this.#guard("cannot review updates", () => {
        if (handler.review()) this.#owesApply = true;
      });
    if (this.#owesApply) this.#apply(handler);
  }

  /** A removal that cannot be written to the database does not begin: it is retried at the next turn. */
  #apply(handler: SyncHandler, isMerged = false): void {
    this.#owesApply = true;
    if (!this.#runtimeKnown || !handler.mayApply()) return;
    try {
      handler.apply(isMerged);
      this.#owesApply = false;
      this.#hasApplied = true;
    } catch (error) {
      this.#options.log.error("cannot act on what is desired", { error: messageOf(error) });
    }
  }

  /** What fails now is retried with the next apply. The result: whether it has succeeded. */
  #guard(what: string, run: () => void): boolean {
    try {
      run();
      return true;
    } catch (error) {
      this.#owesApply = true;
      this.#options.log.error(what, { error: messageOf(error) });
      return false;
    }
  }
}
