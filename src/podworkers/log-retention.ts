// Decides what of a replaced pod's logs is kept: the newest attempts first, then the end of the largest.

export interface LogFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Restart count in its name: the order, for clocks lie. */
  readonly attempt: number;
}

export interface TrimStep {
  readonly path: string;
  /** Bytes of the end that stay; 0 = remove. */
  readonly keepBytes: number;
}

/** Steps after which all logs together have at most `limit` bytes; empty when they have already. */
export function trimPlan(logs: readonly LogFile[], limit: number): readonly TrimStep[] {
  let left = limit;
  const steps: TrimStep[] = [];
  for (const log of logs.toSorted((a, b) => b.attempt - a.attempt || a.size - b.size)) {
    const keepBytes = Math.min(log.size, left);
    if (keepBytes < log.size) steps.push({ path: log.path, keepBytes });
    left -= keepBytes;
  }
  return steps;
}
