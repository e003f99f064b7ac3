// Performs: keeps the newest snapshot of each source, unchanged by updates, and whether all sources are ready. Updates
// are judged against it, so it is built first. kubelet: SourcesReady

import {
  NOTHING_DESIRED,
  type DesiredPod,
  type DesiredState,
  type SourceName,
  type SourceSnapshot,
} from "../api/pod/desired-pod.ts";
import { isStatic } from "../api/pod/labels.ts";
import { isOfNode, type NodeIdentities } from "../api/pod/node-config-map.ts";
import type { LocalObjects } from "../api/v1/object/local-object.ts";
import { podName } from "../api/v1/pod.ts";
import { listensTo } from "./object-access.ts";
import { ObjectIndex } from "./object-index.ts";
import { mistakenObjects, referredKeys } from "./object-readers.ts";
import { isShadowed, outranks } from "./precedence.ts";

export interface SourceSnapshotsOptions {
  /** The sources of this node; each sends a snapshot when it starts, even an empty one. */
  readonly sources: readonly SourceName[];
  /** What every pod may read of its node. */
  readonly node: () => NodeIdentities;
}

export class SourceSnapshots {
  readonly #options: SourceSnapshotsOptions;
  readonly #objects: ObjectIndex;
  readonly #snapshots = new Map<SourceName, SourceSnapshot>();
  #state: DesiredState = NOTHING_DESIRED;

  constructor(options: SourceSnapshotsOptions) {
    this.#options = options;
    this.#objects = new ObjectIndex(options.node);
  }

  /** The newest snapshot of its source. */
  setSnapshot(snapshot: SourceSnapshot): void {
    this.#snapshots.set(snapshot.source, snapshot);
  }

  snapshots(): readonly SourceSnapshot[] {
    return [...this.#snapshots.values()];
  }

  /** `state`: the merged snapshots. Returns the keys (`ConfigMap default/web`) of the objects that changed. */
  setMerged(state: DesiredState): ReadonlySet<string> {
    this.#state = state;
    return this.#objects.replace(state.objects);
  }

  /** What this pod may read of the newest snapshots. */
  objectsFor(desired: DesiredPod): LocalObjects {
    return this.#objects.for(desired);
  }

  /** Grows with every change of an object. */
  get objectVersion(): number {
    return this.#objects.version;
  }

  /** Keys (`ConfigMap default/web`) that the pod reads, that are absent, and that may still come. */
  late(desired: DesiredPod): readonly string[] {
    return this.#uncertain(desired).filter((key) => this.#objects.find(desired, key) === undefined);
  }

  /** Whether a source of higher precedence has a pod of this name. */
  isShadowed(desired: DesiredPod): boolean {
    return isShadowed(desired, this.#state.rejected);
  }

  /** The desired pod of the name `namespace/name`. */
  wanted(name: string): DesiredPod | undefined {
    return this.#state.pods.find(({ pod }) => podName(pod) === name);
  }

  /** Whether the source has sent a snapshot. */
  hasSynced(source: SourceName): boolean {
    return this.#snapshots.has(source);
  }

  /** Every source has sent a snapshot; before that, precedence between them is unknown. kubelet: sourcesReady */
  sourcesReady(): boolean {
    return this.#options.sources.every((source) => this.hasSynced(source));
  }

  /**
   * Every source has sent a complete snapshot, but for documents that are not among `had`, those that this node has had:
   * nothing here can be theirs. undefined = it is not known which it has had.
   */
  haveSpoken(had: readonly SourceName[] | undefined): boolean {
    const hasSpoken = ({ source, ready }: SourceSnapshot): boolean =>
      ready || (had !== undefined && !isStatic(source) && !had.includes(source));
    return this.sourcesReady() && this.snapshots().every(hasSpoken);
  }

  /** No object that the pod refers to, also an absent one, can still become another one without a change in its source. */
  isSettledFor(reader: DesiredPod): boolean {
    return this.#uncertain(reader).length === 0;
  }

  /**
   * Keys that the pod refers to and a source may still declare that has yet to send a complete snapshot, or has a mistake in this
   * object: any source, where none declares it, and one with precedence, where another does.
   */
  #uncertain(reader: DesiredPod): readonly string[] {
    const heard = this.snapshots().filter(({ source }) => listensTo(reader.source, source));
    const suspects = heard.map(({ source, ready, rejected }) => ({
      source,
      ready,
      mistaken: mistakenObjects(rejected),
    }));
    return [...new Set(referredKeys(reader.pod))].filter((key) => {
      if (isOfNode(key)) return false;
      const found = this.#objects.find(reader, key);
      return suspects
        .filter(({ source }) => found === undefined || isStaticBefore(source, found.source))
        .some(({ ready, mistaken }) => !ready || mistaken.has(key));
    });
  }
}

/** A document that comes first may never come: what it could declare is not waited for where another source declares it. */
function isStaticBefore(source: SourceName, other: SourceName): boolean {
  return isStatic(source) && outranks(source, other);
}
