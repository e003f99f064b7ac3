// Performs: what all sources ask for, merged: kept here because a merge depends on what runs by then.

import {
  NOTHING_DESIRED,
  type DesiredPod,
  type DesiredState,
  type SourceName,
  type SourceSnapshot,
} from "../api/pod/desired-pod.ts";
import { objectKey, type DesiredObject, type LocalObjects } from "../api/v1/local-object.ts";
import type { NodeIdentity } from "../api/pod/node-object.ts";
import { referencesOf } from "../api/pod/object-references.ts";
import { podName, type PodUID } from "../api/v1/pod.ts";
import { listensTo } from "./object-access.ts";
import { mergeSnapshots, type Admission, type AdmissionRank } from "./pod-config.ts";
import { ObjectIndex } from "./object-index.ts";
import { isSameList } from "../lib/compare.ts";

export interface DesiredPodsOptions {
  readonly maxPods: number;
  readonly admissionRank: (pod: DesiredPod) => AdmissionRank;
  /** Whatever holds a place at this moment. */
  readonly occupants: () => readonly DesiredPod[];
  /** What the node says to newcomers, with nobody in it yet. */
  readonly admission: Admission;
  /** What every pod may read of its node by now. */
  readonly node: () => NodeIdentity;
  /** Of the node's groups by now; absent = it is in none. */
  readonly groupPriorities?: () => ReadonlyMap<string, number>;
  /**
   * Objects (`ConfigMap default/web`) that have come, gone, or say something else now, or are missing for sure where they
   * may have been late; called when they can be looked up, and before the new pods are returned.
   */
  readonly onObjectsChanged?: (keys: ReadonlySet<string>) => void;
  /** How documents change what runs; absent = they are not judged. */
  readonly rollouts?: DesiredRollouts;
}

/** What the sources want, before updates are judged. */
export interface WrittenState {
  objectsFor(desired: DesiredPod): LocalObjects;
  /** What the pod reads and may still come (`ConfigMap default/web`). */
  late(desired: DesiredPod): readonly string[];
  /** Another source has its name. */
  isShadowed(desired: DesiredPod): boolean;
}

export interface DesiredRollouts {
  hear(snapshot: SourceSnapshot): void;
  /** Which pods find something else from now on. */
  review(): readonly PodUID[];
  effective(snapshot: SourceSnapshot): SourceSnapshot;
  objectsOf(desired: DesiredPod): LocalObjects;
  /** Precedence is no guess any more: every local source has said something. */
  mayReview(): boolean;
  onRepinned(uids: readonly PodUID[]): void;
}

export class DesiredPods {
  readonly #options: DesiredPodsOptions;
  readonly #objects: ObjectIndex;
  readonly #snapshots = new Map<SourceName, SourceSnapshot>();
  #state: DesiredState = NOTHING_DESIRED;
  /** The same as the sources write it. */
  #written: DesiredState = NOTHING_DESIRED;
  /** Everything that the sources ask for of what may run. */
  #asked: readonly DesiredPod[] = [];
  /** How often something turned out to be missing that may have been late. */
  #late = 0;

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
    this.#options.rollouts?.hear(snapshot);
    this.merge();
  }

  /** Anew: what runs by now has a claim to its place, and what is on trial may have proved itself. */
  merge(): DesiredState {
    const { rollouts } = this.#options;
    const snapshots = [...this.#snapshots.values()];
    const hadSpoken = this.#state.ready;
    this.#written = this.#merged(snapshots);
    const changed = this.#objects.replace(this.#written.objects);
    const repinned = rollouts?.mayReview() === true ? rollouts.review() : [];
    const effective = this.#effective();
    this.#asked = effective.flatMap(({ pods }) => pods);
    const isAsWritten = effective.every((snapshot, index) => snapshot === snapshots[index]);
    this.#state = isAsWritten ? this.#written : this.#merged(effective);
    const missing = this.#missingSince(hadSpoken);
    if (missing.length > 0 || repinned.length > 0) this.#late += 1;
    const news = new Set([...changed, ...missing]);
    if (news.size > 0) this.#options.onObjectsChanged?.(news);
    if (repinned.length > 0) rollouts?.onRepinned(repinned);
    return this.#state;
  }

  /** Looks at updates alone; true = something else may run from now on, and `merge` is due. */
  review(): boolean {
    const { rollouts } = this.#options;
    if (rollouts?.mayReview() !== true) return false;
    const repinned = rollouts.review();
    if (repinned.length > 0) {
      this.#late += 1;
      rollouts.onRepinned(repinned);
    }
    return !isSameList(
      this.#effective().flatMap(({ pods }) => pods),
      this.#asked,
    );
  }

  #effective(): readonly SourceSnapshot[] {
    const { rollouts } = this.#options;
    return [...this.#snapshots.values()].map(
      (snapshot) => rollouts?.effective(snapshot) ?? snapshot,
    );
  }

  #merged(snapshots: readonly SourceSnapshot[]): DesiredState {
    const { maxPods, admissionRank, occupants, admission } = this.#options;
    return mergeSnapshots(snapshots, {
      groupPriorities: this.#options.groupPriorities?.() ?? new Map(),
      maxPods,
      admissionRank,
      occupants: occupants(),
      admission,
    });
  }

  /** A source has spoken since: what pods refer to and nobody has is late no longer. */
  #missingSince(hadSpoken: ReadonlySet<SourceName>): readonly string[] {
    const { pods, objects, ready } = this.#state;
    if ([...ready].every((source) => hadSpoken.has(source))) return [];
    return missingFor(pods, objects);
  }

  /** What this pod finds: the newest word at every look-up, or what was there when it was good. */
  objectsFor(desired: DesiredPod): LocalObjects {
    return this.#options.rollouts?.objectsOf(desired) ?? this.#objects.for(desired);
  }

  /** What the sources say by now, whatever is on trial. */
  get written(): WrittenState {
    return {
      objectsFor: (desired) => this.#objects.for(desired),
      late: (desired) => this.#lateFor(desired),
      isShadowed: (desired) => this.#isShadowed(desired),
    };
  }

  #lateFor(desired: DesiredPod): readonly string[] {
    return this.isSettledFor(desired.source) ? [] : missingFor([desired], this.#written.objects);
  }

  #isShadowed({ pod, source }: DesiredPod): boolean {
    const { namespace, name } = pod.metadata;
    return this.#written.rejected.some(
      (one) =>
        one.code === "Shadowed" &&
        one.source === source &&
        one.kind === "Pod" &&
        one.namespace === namespace &&
        one.name === name,
    );
  }

  /** Grows whenever an object says something else, comes or goes, or is missing where it may have been late. */
  get objectVersion(): number {
    return this.#objects.version + this.#late;
  }

  wants(uid: string): boolean {
    return this.#state.pods.some((pod) => pod.uid === uid);
  }

  /** `namespace/name`; also one that is asked for and has no room. */
  wantsName(name: string): boolean {
    return this.#state.held.has(name) || this.#state.pods.some(({ pod }) => podName(pod) === name);
  }

  /** As the sources write it, whatever is on trial. */
  wanted(name: string): DesiredPod | undefined {
    return this.#written.pods.find(({ pod }) => podName(pod) === name);
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

/** Keys (`ConfigMap default/web`) of what the pods refer to and nobody has. */
function missingFor(
  pods: readonly DesiredPod[],
  objects: readonly DesiredObject[],
): readonly string[] {
  const there = new Set(objects.map(({ object }) => objectKey(object)));
  return pods
    .flatMap(({ pod }) => referencesOf(pod))
    .map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`)
    .filter((key) => !there.has(key));
}
