// Performs: the newest refusal of one document source, `lastRejected`: reported when new, and once an hour while it
// repeats.

import type { RefusedDocument } from "../protocol/desired-document.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";

interface Remembered {
  readonly reported: RefusedDocument;
  readonly reportedAt: Monotonic;
  /** All of them, those not reported yet included. */
  readonly count: number;
}

const REPORT_AGAIN_MS = 3_600_000;
/** Documents that replace each other in turns must not cause a report each time. */
const REMEMBERED = 16;

/** Lives in memory only: a refusal writes nothing to disk. */
export class RefusalMemory {
  readonly #clock: Clock;
  readonly #byContent = new Map<string, Remembered>();
  #last: RefusedDocument | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The newest refusal that was reported. */
  last(): RefusedDocument | undefined {
    return this.#last;
  }

  /** Counts a refusal; true = `last` has changed. */
  note(refused: Omit<RefusedDocument, "at" | "count">): boolean {
    const key = JSON.stringify([refused.digest, refused.code, refused.message]);
    const now = this.#clock.monotonic();
    const before = this.#byContent.get(key);
    const count = (before?.count ?? 0) + 1;
    this.#byContent.delete(key);
    if (before !== undefined && now - before.reportedAt < REPORT_AGAIN_MS) {
      this.#byContent.set(key, { ...before, count });
      return false;
    }
    const reported = { ...refused, at: this.#clock.now(), count };
    this.#byContent.set(key, { reported, reportedAt: now, count });
    const [oldest] = this.#byContent.keys();
    if (this.#byContent.size > REMEMBERED && oldest !== undefined) this.#byContent.delete(oldest);
    this.#last = reported;
    return true;
  }

  /** After a newer document was accepted, earlier refusals no longer matter. */
  forget(): void {
    this.#byContent.clear();
    this.#last = undefined;
  }
}
