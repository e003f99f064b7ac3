// Performs: merges what all sources ask for into what this node shall run, with the updates as they are judged.

import {
  NOTHING_DESIRED,
  type DesiredPod,
  type DesiredState,
  type SourceName,
  type SourceSnapshot,
} from "../api/pod/desired-pod.ts";
import type { LocalObjects } from "../api/v1/object/local-object.ts";
import { podName, type PodUID } from "../api/v1/pod.ts";
import { isSameList } from "../lib/compare.ts";
import { mergeSnapshots, type MergeOptions } from "./pod-config.ts";
import type { WrittenPods } from "./written-pods.ts";
import { missingFor } from "./object-changes.ts";

export interface DesiredPodsOptions extends Required<
  Pick<MergeOptions, "maxPods" | "admissionRank" | "admission">
> {
  readonly written: WrittenPods;
  /** Pods that are there now, desired or not. */
  readonly occupants: () => readonly DesiredPod[];
  /** Of the node's groups now; absent = it is in none. */
  readonly groupPriorities?: () => ReadonlyMap<string, number>;
  /** How documents change what runs; absent = they are not judged. */
  readonly rollouts?: JudgedUpdates;
  /**
   * Objects (`ConfigMap default/web`) have been added, removed or changed, or are missing now where they may have been
   * late; called when they can be read, and before the new pods are returned.
   */
  readonly onObjectsChanged?: (keys: ReadonlySet<string>) => void;
  /** An update or a rollback gives this pod other objects. */
  readonly onPodChanged?: (uid: PodUID) => void;
  readonly onReviewed?: () => void;
}

export interface JudgedUpdates {
  setSnapshot(snapshot: SourceSnapshot): void;
  /** The pods that read other objects from now on. */
  review(): readonly PodUID[];
  /** What may run of a snapshot; the snapshot itself if that is all of it. */
  effective(snapshot: SourceSnapshot): SourceSnapshot;
  objectsOf(desired: DesiredPod): LocalObjects;
}

export class DesiredPods {
  readonly #options: DesiredPodsOptions;
  #state: DesiredState = NOTHING_DESIRED;
  /** Of the effective snapshots at the last merge. */
  #asked: readonly DesiredPod[] = [];
  /** How often something turned out to be missing that may have been late. */
  #late = 0;

  constructor(options: DesiredPodsOptions) {
    this.#options = options;
  }

  /** As merged last. */
  get state(): DesiredState {
    return this.#state;
  }

  /** The newest snapshot of its source. */
  setSnapshot(snapshot: SourceSnapshot): void {
    this.#options.written.setSnapshot(snapshot);
    this.#options.rollouts?.setSnapshot(snapshot);
    this.merge();
  }

  /** Merges anew: pods that run keep their places, and updates on trial may have converged. */
  merge(): DesiredState {
    const { written, onObjectsChanged } = this.#options;
    const snapshots = written.snapshots();
    const before = this.#state.ready;
    const asWritten = this.#merged(snapshots);
    const changed = written.setMerged(asWritten);
    const repinned = this.#review();
    const effective = this.#effective();
    this.#asked = effective.flatMap(({ pods }) => pods);
    const isAsWritten = effective.every((snapshot, index) => snapshot === snapshots[index]);
    this.#state = isAsWritten ? asWritten : this.#merged(effective);
    const missing = this.#missingSince(before);
    if (missing.length > 0 || repinned.length > 0) this.#late += 1;
    const keys = new Set([...changed, ...missing]);
    if (keys.size > 0) onObjectsChanged?.(keys);
    this.#notify(repinned);
    return this.#state;
  }

  /** Reviews updates alone; true = what may run has changed, and `merge` is due. */
  review(): boolean {
    if (!this.#options.written.sourcesReady()) return false;
    const repinned = this.#review();
    if (repinned.length > 0) this.#late += 1;
    this.#notify(repinned);
    return !isSameList(
      this.#effective().flatMap(({ pods }) => pods),
      this.#asked,
    );
  }

  /** What this pod reads: the newest objects, or those of the revision that it was rolled back to. */
  objectsFor(desired: DesiredPod): LocalObjects {
    const { rollouts, written } = this.#options;
    return rollouts?.objectsOf(desired) ?? written.objectsFor(desired);
  }

  /** Grows whenever an object changes, or is missing where it may have been late. */
  get objectVersion(): number {
    return this.#options.written.objectVersion + this.#late;
  }

  wants(uid: string): boolean {
    return this.#state.pods.some((pod) => pod.uid === uid);
  }

  /** `namespace/name`; also a pod that is desired and has no room. */
  wantsName(name: string): boolean {
    return this.#state.held.has(name) || this.#state.pods.some(({ pod }) => podName(pod) === name);
  }

  /** The pods that read other objects from now on; none before the sources are ready. */
  #review(): readonly PodUID[] {
    const { rollouts, written, onReviewed } = this.#options;
    if (rollouts === undefined || !written.sourcesReady()) return [];
    const repinned = rollouts.review();
    onReviewed?.();
    return repinned;
  }

  #notify(repinned: readonly PodUID[]): void {
    for (const uid of repinned) this.#options.onPodChanged?.(uid);
  }

  #effective(): readonly SourceSnapshot[] {
    const { rollouts, written } = this.#options;
    return written.snapshots().map((snapshot) => rollouts?.effective(snapshot) ?? snapshot);
  }

  #merged(snapshots: readonly SourceSnapshot[]): DesiredState {
    const { maxPods, admissionRank, occupants, admission, groupPriorities } = this.#options;
    return mergeSnapshots(snapshots, {
      groupPriorities: groupPriorities?.() ?? new Map(),
      maxPods,
      admissionRank,
      occupants: occupants(),
      admission,
    });
  }

  /** When a source has completed its first snapshot, what pods refer to and no source has is missing, and late no longer. */
  #missingSince(before: ReadonlySet<SourceName>): readonly string[] {
    const { pods, objects, ready } = this.#state;
    if ([...ready].every((source) => before.has(source))) return [];
    return missingFor(pods, objects);
  }
}
