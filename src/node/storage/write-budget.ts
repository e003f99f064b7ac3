// How much the agent has written to the disk in the last 24 hours, and whether that is more than a flash card should bear.

import type { NodeCondition } from "../../api/v1/pod-status.ts";
import type { Monotonic } from "../../lib/clock.ts";

const HOUR_MS = 3_600_000;
const HOURS = 24;
const MEBIBYTE = 1024 * 1024;

/** Of one day, without the content of images, which the operator orders. */
export const DAILY_BUDGET_BYTES = 512 * MEBIBYTE;

/** Type of the condition. */
export const WRITES_OVER_BUDGET = "WritesOverBudget";

export interface Written {
  /** As the kernel counts it for the process; undefined = it does not, and the sum of the kinds counts. */
  readonly total: number | undefined;
  /** Since the start, by kind. */
  readonly kinds: ReadonlyMap<string, number>;
}

interface Hour {
  readonly hour: number;
  total: number;
  readonly kinds: Map<string, number>;
}

const IMAGES = "images";

/** What was written before the agent started is unknown: a restart begins with nothing. */
export class WriteBudget {
  #hours: readonly Hour[] = [];
  #last: Written = { total: undefined, kinds: new Map() };

  note(written: Written, now: Monotonic): void {
    const hour = Math.floor(now / HOUR_MS);
    this.#hours = this.#hours.filter((one) => one.hour > hour - HOURS);
    let current = this.#hours.find((one) => one.hour === hour);
    if (current === undefined) {
      current = { hour, total: 0, kinds: new Map() };
      this.#hours = [...this.#hours, current];
    }
    let own = 0;
    for (const [kind, bytes] of written.kinds) {
      const more = Math.max(0, bytes - (this.#last.kinds.get(kind) ?? 0));
      current.kinds.set(kind, (current.kinds.get(kind) ?? 0) + more);
      if (kind !== IMAGES) own += more;
    }
    current.total +=
      written.total === undefined ? own : Math.max(0, written.total - (this.#last.total ?? 0));
    this.#last = { total: written.total, kinds: new Map(written.kinds) };
  }

  /** Of the last 24 hours. */
  get day(): number {
    return this.#hours.reduce((sum, { total }) => sum + total, 0);
  }

  /** Largest first. */
  get dayByKind(): readonly (readonly [kind: string, bytes: number])[] {
    const sums = new Map<string, number>();
    for (const { kinds } of this.#hours)
      for (const [kind, bytes] of kinds) sums.set(kind, (sums.get(kind) ?? 0) + bytes);
    return [...sums].filter(([, bytes]) => bytes > 0).toSorted(([, a], [, b]) => b - a);
  }

  conditions(): readonly NodeCondition[] {
    const { day } = this;
    if (day <= DAILY_BUDGET_BYTES) return [];
    const kinds = this.dayByKind
      .filter(([kind]) => kind !== IMAGES)
      .map(([kind, bytes]) => `${kind} ${mebibytes(bytes)}`);
    const message = `the agent has written ${mebibytes(day)} to the disk in 24 hours, more than its budget of ${mebibytes(DAILY_BUDGET_BYTES)}, which wears out a flash card${kinds.length === 0 ? "" : `: ${kinds.slice(0, 3).join(", ")}`}; look for a pod that changes its state all the time (agent get events)`;
    return [{ type: WRITES_OVER_BUDGET, status: "True", reason: "DailyBudget", message }];
  }
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / MEBIBYTE)} MiB`;
}
