// Decides what goes when the logs of a pod, or of all pods, take more than they may. The newest lines of each container stay.
//
// Whose logs are largest pays first, oldest first by attempt and rotation: an age would need a clock that can be trusted.

import type { LogPlace } from "./rotate-log.ts";

export interface CountedLog {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly isCompressed: boolean;
  /** The runtime writes to it, or may. */
  readonly isWritten: boolean;
  /** Of a log that can be rotated now. */
  readonly place?: LogPlace;
}

export interface ContainerLogs {
  /** Oldest first. */
  readonly logs: readonly CountedLog[];
}

export interface PodLogs {
  /** `namespace/name`. */
  readonly pod: string;
  readonly containers: readonly ContainerLogs[];
}

export interface LogLimits {
  /** Bytes; Infinity = none. */
  readonly pod: number;
  readonly node: number;
}

export type CapStep =
  | { readonly type: "RemoveLog"; readonly pod: string; readonly path: string }
  /** Only the end of it stays. */
  | {
      readonly type: "CutLog";
      readonly pod: string;
      readonly path: string;
      readonly keepBytes: number;
    }
  /** Below its own limit: what it becomes can be cut. */
  | { readonly type: "RotateLog"; readonly pod: string; readonly place: LogPlace };

/** Of each container: its newest lines. */
export const KEPT_BYTES = 64 * 1024;
/** A little room after each clean-up, or the next one would follow at once. */
const TARGET_SHARE = 0.9;

export function planCaps(pods: readonly PodLogs[], limits: LogLimits): readonly CapStep[] {
  const shelves = pods.map(({ pod, containers }) => new Shelf(pod, containers));
  const steps = shelves.flatMap((shelf) => reduce([shelf], limits.pod));
  return [...steps, ...reduce(shelves, limits.node)];
}

export function totalBytes(pods: readonly PodLogs[]): number {
  return sum(pods.map(podBytes));
}

/** How much more may be written before a limit is reached. */
export function slack(pods: readonly PodLogs[], limits: LogLimits): number {
  const ofPods = pods.map((pod) => limits.pod - podBytes(pod));
  return Math.max(0, Math.min(limits.node - totalBytes(pods), ...ofPods));
}

function podBytes({ containers }: PodLogs): number {
  return sum(containers.flatMap(({ logs }) => logs.map(({ size }) => size)));
}

function reduce(shelves: readonly Shelf[], limit: number): readonly CapStep[] {
  const steps: CapStep[] = [];
  const bytes = (): number => sum(shelves.map((shelf) => shelf.bytes));
  if (bytes() <= limit) return steps;
  const target = limit * TARGET_SHARE;
  for (const turn of ["remove", "cut", "rotate"] as const)
    while (bytes() > target) {
      const step = largestFirst(shelves, (shelf) => shelf[turn]());
      if (step === undefined) break;
      steps.push(step);
    }
  return steps;
}

function largestFirst(
  shelves: readonly Shelf[],
  take: (shelf: Shelf) => CapStep | undefined,
): CapStep | undefined {
  for (const shelf of shelves.toSorted((a, b) => b.bytes - a.bytes)) {
    const step = take(shelf);
    if (step !== undefined) return step;
  }
  return undefined;
}

/** The logs of one pod while it is decided what goes. */
class Shelf {
  readonly #pod: string;
  readonly #containers: readonly Row[];

  constructor(pod: string, containers: readonly ContainerLogs[]) {
    this.#pod = pod;
    this.#containers = containers.map(rowOf);
  }

  get bytes(): number {
    return sum(this.#containers.map(bytesOf));
  }

  remove(): CapStep | undefined {
    for (const row of this.#containers.toSorted((a, b) => bytesOf(b) - bytesOf(a))) {
      const log = row.old.shift();
      if (log !== undefined) return { type: "RemoveLog", pod: this.#pod, path: log.path };
    }
    return undefined;
  }

  cut(): CapStep | undefined {
    const found = this.#largest((log) => !log.isWritten && !log.isCompressed);
    if (found === undefined) return undefined;
    this.#replace(found);
    return { type: "CutLog", pod: this.#pod, path: found.path, keepBytes: KEPT_BYTES };
  }

  rotate(): CapStep | undefined {
    const found = this.#largest(({ place }) => place !== undefined);
    if (found?.place === undefined) return undefined;
    this.#replace(found);
    return { type: "RotateLog", pod: this.#pod, place: found.place };
  }

  #largest(isMeant: (log: CountedLog) => boolean): CountedLog | undefined {
    return this.#containers
      .flatMap(({ newest }) => newest)
      .filter((log) => log.size > KEPT_BYTES && isMeant(log))
      .toSorted((a, b) => b.size - a.size)[0];
  }

  /** As it is after the step, or after the next clean-up. */
  #replace(log: CountedLog): void {
    for (const { newest } of this.#containers) {
      const index = newest.indexOf(log);
      if (index >= 0) newest[index] = { ...log, size: KEPT_BYTES };
    }
  }
}

interface Row {
  /** May be removed, oldest first. */
  readonly old: CountedLog[];
  /** Hold the newest lines, or are written to. */
  readonly newest: CountedLog[];
}

function rowOf({ logs }: ContainerLogs): Row {
  const row: Row = { old: [], newest: [] };
  let kept = 0;
  for (const log of logs.toReversed()) {
    if (kept < KEPT_BYTES || log.isWritten) row.newest.unshift(log);
    else row.old.unshift(log);
    kept += log.size;
  }
  return row;
}

function bytesOf({ old, newest }: Row): number {
  return sum([...old, ...newest].map(({ size }) => size));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
