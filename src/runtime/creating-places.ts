// Performs: hands out the few places for calls that create something in the runtime: to pods of files first, then by priority,
// so that at a boot what matters most runs first. More calls at once make containerd slower, not faster.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { isStatic } from "../api/pod/labels.ts";
import { priorityOf, type PriorityClasses } from "../api/resource/priority.ts";
import { Limiter } from "../lib/concurrency-limit.ts";

type Urgent = Pick<DesiredPod, "pod" | "source">;

/** Sandboxes and containers. */
export const CREATING_AT_ONCE = 4;

/** Above every priority, which is a signed number of 32 bits. */
const OF_FILES = 2 ** 32;

/** The higher comes first: pods of files before those of documents, each by their priority. */
export function startUrgency({ pod, source }: Urgent, priorityClasses: PriorityClasses): number {
  return (isStatic(source) ? OF_FILES : 0) + priorityOf(pod, { priorityClasses });
}

export interface CreatingPlacesOptions {
  readonly priorityClasses: PriorityClasses;
  /** Absent = CREATING_AT_ONCE. */
  readonly places?: number;
}

export class CreatingPlaces {
  readonly #limiter: Limiter;
  readonly #priorityClasses: PriorityClasses;

  constructor({ priorityClasses, places = CREATING_AT_ONCE }: CreatingPlacesOptions) {
    this.#limiter = new Limiter(places);
    this.#priorityClasses = priorityClasses;
  }

  /** Runs `work` when a place is free; returns or throws what `work` does. */
  run<T>(desired: Urgent, work: () => Promise<T>): Promise<T> {
    return this.#limiter.run(work, startUrgency(desired, this.#priorityClasses));
  }
}
