// What all sources ask for, merged: kept here because a merge depends on what runs by then.

import {
  NOTHING_DESIRED,
  type DesiredPod,
  type DesiredState,
  type SourceName,
  type SourceSnapshot,
} from "../api/desired-pod.ts";
import { podName } from "../api/pod.ts";
import { mergeSnapshots, type Standing } from "../source/pod-config.ts";

export interface DesiredPodsOptions {
  readonly maxPods: number;
  readonly standing: (pod: DesiredPod) => Standing;
  /** Whatever holds a place at this moment. */
  readonly occupants: () => readonly DesiredPod[];
}

export class DesiredPods {
  readonly #options: DesiredPodsOptions;
  readonly #snapshots = new Map<SourceName, SourceSnapshot>();
  #state: DesiredState = NOTHING_DESIRED;

  constructor(options: DesiredPodsOptions) {
    this.#options = options;
  }

  /** As merged last. */
  get state(): DesiredState {
    return this.#state;
  }

  /** The newest word of its source. */
  hear(snapshot: SourceSnapshot): void {
    this.#snapshots.set(snapshot.source, snapshot);
    this.merge();
  }

  /** Anew: what runs by now has a claim to its place. */
  merge(): DesiredState {
    const { maxPods, standing, occupants } = this.#options;
    this.#state = mergeSnapshots([...this.#snapshots.values()], {
      groupPriorities: new Map(),
      maxPods,
      standing,
      occupants: occupants(),
    });
    return this.#state;
  }

  wants(uid: string): boolean {
    return this.#state.pods.some((pod) => pod.uid === uid);
  }

  /** `namespace/name`; also one that is asked for and has no room. */
  wantsName(name: string): boolean {
    return this.#state.held.has(name) || this.#state.pods.some(({ pod }) => podName(pod) === name);
  }

  hasHeard(source: SourceName): boolean {
    return this.#snapshots.has(source);
  }

  /** Every source that was heard has also spoken (DESIGN: law 5). */
  isSettled(): boolean {
    return [...this.#snapshots.values()].every(({ ready }) => ready);
  }
}
