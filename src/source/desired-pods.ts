// Performs: merges the snapshots of all sources into the pods that this node should run, as far as updates permit.

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
import { mergeSnapshots, type MergeOptions } from "./merge-sources.ts";
import type { SourceSnapshots } from "./source-snapshots.ts";
import { mistakenObjects, referredKeys } from "./object-readers.ts";

export interface DesiredPodsOptions {
  readonly written: SourceSnapshots;
  /** As the node is at present. */
  readonly mergeOptions: () => MergeOptions;
  /** How documents change what runs; absent = they are not judged. */
  readonly rollouts?: JudgedUpdates;
  /**
   * Objects (`ConfigMap default/web`) were added, removed or changed, or are now known to be missing. Called when they can
   * be read, and before the new pods are returned.
   */
  readonly onObjectsChanged?: (keys: ReadonlySet<string>) => void;
  /** The pod reads other objects, because of an update or a rollback. */
  readonly onPodChanged?: (uid: PodUID) => void;
  readonly onReviewed?: () => void;
  /** Adds the pods of Jobs to a snapshot; absent = there are none. */
  readonly expand?: (snapshot: SourceSnapshot) => SourceSnapshot;
}

export interface JudgedUpdates {
  setSnapshot(snapshot: SourceSnapshot): void;
  /** Returns the pods that read other objects from now on. */
  review(): readonly PodUID[];
  /** The part of a snapshot that may run; the same object if all of it may. */
  effective(snapshot: SourceSnapshot): SourceSnapshot;
  objectsOf(desired: DesiredPod): LocalObjects;
}

export class DesiredPods {
  readonly #options: DesiredPodsOptions;
  #state: DesiredState = NOTHING_DESIRED;
  /** Pods of the effective snapshots at the last merge. */
  #asked: readonly DesiredPod[] = [];
  /** Number of times that an object which could still have come turned out to be missing. */
  #late = 0;
  /** Keys of objects that are declared with a mistake. */
  #mistaken: ReadonlySet<string> = new Set();

  constructor(options: DesiredPodsOptions) {
    this.#options = options;
  }

  /** The result of the last merge. */
  get state(): DesiredState {
    return this.#state;
  }

  /** The newest snapshot of its source. */
  setSnapshot(snapshot: SourceSnapshot): void {
    this.#options.written.setSnapshot(snapshot);
    this.#options.rollouts?.setSnapshot(snapshot);
    this.merge();
  }

  /** Merges again: running pods keep their places, and updates on trial may have converged. */
  merge(): DesiredState {
    const { written, mergeOptions, onObjectsChanged } = this.#options;
    const snapshots = written.snapshots();
    const options = mergeOptions();
    const before = this.#state.ready;
    const asWritten = mergeSnapshots(snapshots.map(this.#expand), options);
    const changed = written.setMerged(asWritten);
    const repinned = this.#review();
    const effective = this.#effective();
    const expanded = effective.map(this.#expand);
    this.#asked = expanded.flatMap(({ pods }) => pods);
    const isAsWritten = effective.every((snapshot, index) => snapshot === snapshots[index]);
    this.#state = isAsWritten ? asWritten : mergeSnapshots(expanded, options);
    const certain = this.#certainSince(before);
    if (certain.length > 0 || repinned.length > 0) this.#late += 1;
    const keys = new Set([...changed, ...certain]);
    if (keys.size > 0) onObjectsChanged?.(keys);
    this.#notify(repinned);
    return this.#state;
  }

  /** Reviews the updates only; true = what may run has changed, so that `merge` must follow. */
  review(): boolean {
    if (!this.#options.written.sourcesReady()) return false;
    const repinned = this.#review();
    if (repinned.length > 0) this.#late += 1;
    this.#notify(repinned);
    return !isSameList(
      this.#effective().flatMap((snapshot) => this.#expand(snapshot).pods),
      this.#asked,
    );
  }

  /** The objects that this pod reads: the newest, or those of the revision that it was rolled back to. */
  objectsFor(desired: DesiredPod): LocalObjects {
    const { rollouts, written } = this.#options;
    return rollouts?.objectsOf(desired) ?? written.objectsFor(desired);
  }

  /** Grows when an object changes, or is found to be missing. */
  get objectVersion(): number {
    return this.#options.written.objectVersion + this.#late;
  }

  wants(uid: string): boolean {
    return this.#state.pods.some((pod) => pod.uid === uid);
  }

  /** `namespace/name`; true also for a desired pod for which the node has no room. */
  wantsName(name: string): boolean {
    return this.#state.held.has(name) || this.#state.pods.some(({ pod }) => podName(pod) === name);
  }

  /** Returns the pods that read other objects from now on; none before the sources are ready. */
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

  readonly #expand = (snapshot: SourceSnapshot): SourceSnapshot =>
    this.#options.expand?.(snapshot) ?? snapshot;

  #effective(): readonly SourceSnapshot[] {
    const { rollouts, written } = this.#options;
    return written.snapshots().map((snapshot) => rollouts?.effective(snapshot) ?? snapshot);
  }

  /**
   * Objects, also absent ones, that may have been uncertain until now: a source has sent its first complete snapshot, or they
   * stood there with a mistake, and stand there no more.
   */
  #certainSince(before: ReadonlySet<SourceName>): readonly string[] {
    const { pods, ready, rejected } = this.#state;
    const known = this.#mistaken;
    this.#mistaken = mistakenObjects(rejected);
    const isNew = [...ready].some((source) => !before.has(source));
    if (isNew) return pods.flatMap(({ pod }) => referredKeys(pod));
    return [...known].filter((key) => !this.#mistaken.has(key));
  }
}
