// What stays of the logs of a pod that was replaced, for diagnosis: at most 10 MB, the newest first.

/** Of all containers of the pod together. */
export const RETAINED_BYTES = 10 * 1024 * 1024;

export interface LogFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Attempt number in the file's name: the order, because clocks may be wrong. */
  readonly attempt: number;
}

interface TrimStep {
  readonly path: string;
  /** Bytes of the end that stay; 0 = remove. */
  readonly keepBytes: number;
}

/** Steps after which all logs together have at most `limit` bytes: the newest attempts stay, then the end of the largest. */
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
