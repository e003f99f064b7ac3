// What all sources ask for, merged: kept here because a merge depends on what runs by then.

import {
  NOTHING_DESIRED,
  type DesiredPod,
  type DesiredState,
  type SourceName,
  type SourceSnapshot,
} from "../api/desired-pod.ts";
import type { LocalObjects } from "../api/local-object.ts";
import type { NodeIdentity } from "../api/node-object.ts";
import { podName } from "../api/pod.ts";
import { listensTo } from "../source/object-access.ts";
import { mergeSnapshots, type Admission, type Standing } from "../source/pod-config.ts";
import { ObjectIndex } from "./object-index.ts";

export interface DesiredPodsOptions {
  readonly maxPods: number;
  readonly standing: (pod: DesiredPod) => Standing;
  /** Whatever holds a place at this moment. */
  readonly occupants: () => readonly DesiredPod[];
  /** What the node says to newcomers, with nobody in it yet. */
  readonly admission: Admission;
  /** What every pod may read of its node. */
  readonly node: NodeIdentity;
  /**
   * Objects (`ConfigMap default/web`) that have come, gone, or say something else now; called when they can be looked
   * up, and before the new pods are returned.
   */
  readonly onObjectsChanged?: (keys: ReadonlySet<string>) => void;
}

export class DesiredPods {
  readonly #options: DesiredPodsOptions;
  readonly #objects: ObjectIndex;
  readonly #snapshots = new Map<SourceName, SourceSnapshot>();
  #state: DesiredState = NOTHING_DESIRED;

  constructor(options: DesiredPodsOptions) {
    this.#options = options;
    this.#objects = new ObjectIndex(options.node);
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
    const { maxPods, standing, occupants, admission } = this.#options;
    this.#state = mergeSnapshots([...this.#snapshots.values()], {
      groupPriorities: new Map(),
      maxPods,
      standing,
      occupants: occupants(),
      admission,
    });
    const changed = this.#objects.replace(this.#state.objects);
    if (changed.size > 0) this.#options.onObjectsChanged?.(changed);
    return this.#state;
  }

  /** What pods of this source may use: the newest word at every look-up. */
  objectsFor(source: SourceName): LocalObjects {
    return this.#objects.for(source);
  }

  /** Grows whenever an object says something else, comes or goes. */
  get objectVersion(): number {
    return this.#objects.version;
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

  /** Every source that has a say in what pods of this one find has spoken: what is not there is missing, not late. */
  isSettledFor(reader: SourceName): boolean {
    return [...this.#snapshots.values()].every(
      ({ source, ready }) => ready || !listensTo(reader, source),
    );
  }
}
