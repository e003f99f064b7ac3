// What stays of the logs of a pod that was replaced, for diagnosis: at most 10 MB, the newest first.

/** Of all containers of the pod together. */
export const RETAINED_BYTES = 10 * 1024 * 1024;

export interface LogFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Attempt number in the file's name: the order, because clocks may be wrong. */
  readonly attempt: number;
  /** How many rotations ago it was written; 0 = the present log. */
  readonly rotations: number;
  /** A part of a compressed log cannot be read. */
  readonly isCompressed: boolean;
}

interface TrimStep {
  readonly path: string;
  /** Bytes of the end that stay; 0 = remove. */
  readonly keepBytes: number;
}

/**
 * Steps after which all logs together have at most `limit` bytes: the newest attempts stay, of one attempt what was written
 * last, then the end of the largest.
 */
export function trimPlan(logs: readonly LogFile[], limit: number): readonly TrimStep[] {
  let left = limit;
  const steps: TrimStep[] = [];
  for (const log of logs.toSorted(newestFirst)) {
    const fitting = Math.min(log.size, left);
    const keepBytes = log.isCompressed && fitting < log.size ? 0 : fitting;
    if (keepBytes < log.size) steps.push({ path: log.path, keepBytes });
    left -= keepBytes;
  }
  return steps;
}

function newestFirst(a: LogFile, b: LogFile): number {
  return b.attempt - a.attempt || a.rotations - b.rotations || a.size - b.size;
}
