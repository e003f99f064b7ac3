// Performs: calls for a report whenever one is due; report-timing.ts decides when.

import { deadline, type Clock } from "../../lib/clock.ts";
import { LatestBox } from "../../lib/mailbox.ts";
import type { Random } from "../../lib/random.ts";
import {
  afterChange,
  afterLook,
  afterReport,
  beforeReport,
  initialReportState,
  whenToLook,
  whenToReport,
  type NextReport,
  type ReportPolicy,
  type ReportState,
} from "./report-timing.ts";

interface ReportLoopOptions extends ReportPolicy {
  readonly clock: Clock;
  readonly random: Random;
  /** False = the content has not changed, and nothing is published. */
  readonly report: (why: NextReport["why"]) => boolean;
  /** Whether a report would now contain an answer to a document that the last one did not. */
  readonly hasAnswer: () => boolean;
}

export class ReportLoop {
  readonly #options: ReportLoopOptions;
  readonly #changes = new LatestBox<true>();
  #state: ReportState;

  constructor(options: ReportLoopOptions) {
    const { clock, random, frequency } = options;
    this.#options = options;
    this.#state = initialReportState(clock.monotonic(), frequency, random.next());
  }

  /** The content of the report has changed. */
  changed(): void {
    this.#state = afterChange(this.#state, this.#options.clock.monotonic());
    this.#changes.put(true);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, credit, hasAnswer } = this.#options;
    while (!signal.aborted) {
      const now = clock.monotonic();
      const { at, why } = whenToReport(this.#state, credit);
      if (at <= now) {
        this.#report({ at: now, why });
        continue;
      }
      const lookAt = whenToLook(this.#state, credit) ?? at;
      if (lookAt <= now) {
        this.#state = afterLook(this.#state);
        if (hasAnswer()) this.#report({ at: now, why: "Change" });
        continue;
      }
      using wait = deadline(clock, Math.min(at, lookAt) - now, signal);
      await this.#changes.take(wait.signal);
    }
  }

  #report(now: NextReport): void {
    const before = this.#state;
    this.#state = beforeReport(before);
    const isPublished = this.#options.report(now.why);
    // Changes may leave the content as it was, or have gone out with the connect: those cost nothing.
    // A change while the report was made waits for the next one.
    if (isPublished || now.why === "Refresh")
      this.#state = { ...this.#state, ...afterReport(before, now, this.#options) };
  }
}
