// Performs: the updates of all documents on this node. Start reading here.
//
// How an update goes, step by step:
//   1. A source publishes a snapshot with a new document: `setSnapshot` keeps it.
//   2. `review` asks each document's rollout (document-rollout.ts) for its next step:
//      - pods-on-node.ts and pod-health.ts read how each pod does,
//      - trial-facts.ts adds the policy, and trial.ts judges the new revision of each pod: good, failed
//        (progress-deadline.ts), held, known bad (bad-revisions.ts) or on trial,
//      - plan-rollout.ts (atomic-document.ts) decides what each pod runs next, checkpoint.ts what the disk has to hold first, and full-disk.ts
//        what may happen when it cannot,
//      - pods-to-run.ts turns that into the pods that may run by now, old ones until the new ones are there.
//   3. `effective` replaces the snapshot's pods by those. What runs a good revision again finds its objects and images
//      of then (`objectsOf`, `imageOf`, good-revision.ts).
//   4. Whatever changes later (a status, a hold, the connection to the broker, time) leads to another `review`.
// Operators' holds are in update-holds.ts, the applications' own locks in update-lock.ts. How a whole document runs, as its
// acknowledgement reports it, is judged by document-health.ts.

import type { DesiredPod, SourceName, SourceSnapshot } from "../api/pod/desired-pod.ts";
import type { PodRolloutStatus } from "../api/pod/rollout.ts";
import { podEvent, type RecordEvent } from "../api/v1/events.ts";
import type { LocalObject, LocalObjects } from "../api/v1/object/local-object.ts";
import { podName, type PodUID } from "../api/v1/pod.ts";
import type { Edges } from "../edges.ts";
import { imageProgress, type ImageLedger } from "../image/pull-results.ts";
import type { Prefetch } from "../image/prefetch.ts";
import { earliest, type Monotonic } from "../lib/clock.ts";
import { withoutUndefined } from "../lib/json.ts";
import { messageOf } from "../lib/errors.ts";
import { isSameList } from "../lib/compare.ts";
import type { DocumentState } from "../protocol/desired-document.ts";
import {
  DocumentRollout,
  type DocumentRolloutOptions,
  type GoodImages,
  type RolloutOutcome,
} from "./document-rollout.ts";
import type { PodHealth } from "./pod-health.ts";
import { PodsOnNode, type PodsOnNodeOptions } from "./pods-on-node.ts";
import { RolloutEvents, type PodTurn } from "./rollout-events.ts";
import type { UpdateHolds } from "./update-holds.ts";
import { Alarm } from "../lib/alarm.ts";

export interface RolloutsOptions
  extends
    Pick<PodsOnNodeOptions, "pods" | "redact" | "refusalOf">,
    Pick<DocumentRolloutOptions, "written" | "upstream" | "nodeName"> {
  readonly holds: Pick<UpdateHolds, "of" | "ofUpdate" | "ofRunning" | "mayDownload">;
  readonly edges: Pick<Edges, "clock" | "log" | "store" | "sha256" | "bootId">;
  readonly record: RecordEvent;
  readonly images: ImageLedger;
  readonly prefetch: Pick<Prefetch, "want">;
  /** A review is due. */
  readonly onDue: () => void;
}

/** Between two reviews that only time asks for. */
const SOONEST_MS = 20;

interface Known {
  readonly rollout: DocumentRollout;
  readonly snapshot: SourceSnapshot;
  outcome: RolloutOutcome | undefined;
}

export class Rollouts implements Disposable {
  readonly #options: RolloutsOptions;
  readonly #documents = new Map<SourceName, Known>();
  readonly #pods: PodsOnNode;
  readonly #events: RolloutEvents;
  /** On trial, or failed without a way back. */
  #open: ReadonlySet<PodUID> = new Set();
  readonly #review: Alarm;

  constructor(options: RolloutsOptions) {
    this.#options = options;
    this.#events = new RolloutEvents({ log: options.edges.log, record: options.record });
    const { clock, store } = options.edges;
    this.#review = new Alarm(clock, options.onDue);
    this.#pods = new PodsOnNode({ ...options, clock, secrets: store.secrets });
  }

  /** The newest snapshot of a source; one without a document, or that cannot be read whole, is not judged. */
  setSnapshot(snapshot: SourceSnapshot): void {
    const { source, document, pods, ready } = snapshot;
    if (document === undefined) {
      this.#documents.delete(source);
      if (ready) this.#forgetAll(source);
      return;
    }
    const known = this.#documents.get(source);
    const rollout = known?.rollout ?? this.#build(source);
    if (known?.snapshot.document !== document) {
      const listed = pods.map((desired) => ({
        desired,
        written: document.written.get(podName(desired.pod)) ?? {},
      }));
      rollout.update({ ...document, pods: listed });
      if (known !== undefined) this.#supersede(known.snapshot, document.generation);
    }
    this.#documents.set(source, { rollout, snapshot, outcome: known?.outcome });
  }

  /** A group that was left: its next document begins anew. */
  #forgetAll(source: SourceName): void {
    const { store, log } = this.#options.edges;
    try {
      const names = [...store.rollouts.of(source).keys()];
      store.rollouts.forget(names.map((name) => ({ source, name })));
    } catch (error) {
      // The next start tries again.
      log.warn("cannot forget the updates of a document", { source, error: messageOf(error) });
    }
  }

  /** Looks at all documents; returns the pods that find other objects or images from now on. */
  review(): readonly PodUID[] {
    this.#pods.look();
    const outcomes = [...this.#documents].map(([source, known]) => {
      const outcome = known.rollout.review();
      known.outcome = outcome;
      if (outcome.trouble !== undefined)
        this.#options.edges.log.error("cannot write down the state of an update", {
          source,
          error: messageOf(outcome.trouble),
        });
      return outcome;
    });
    const { open, waiting } = this.#events.report(this.#turns());
    this.#open = open;
    this.#options.prefetch.want(waiting.filter((desired) => this.#mayDownload(desired)));
    this.#reviewAt(earliest(outcomes.map(({ reviewAt }) => reviewAt)));
    return outcomes.flatMap(({ repinned }) => repinned);
  }

  /** What may run of a snapshot; the snapshot itself where that is all of it. */
  effective(snapshot: SourceSnapshot): SourceSnapshot {
    const outcome = this.#documents.get(snapshot.source)?.outcome;
    if (outcome === undefined) return snapshot;
    const { pods, held } = outcome;
    return held.length === 0 && isSameList(pods, snapshot.pods)
      ? snapshot
      : { ...snapshot, pods, held };
  }

  #mayDownload(desired: DesiredPod): boolean {
    const { policy } = this.#documents.get(desired.source)?.snapshot.document ?? {};
    return policy === undefined || this.#options.holds.mayDownload(desired, policy);
  }

  #turns(): readonly PodTurn[] {
    return [...this.#documents].flatMap(([source, { snapshot, outcome }]) => {
      const pods = new Map(snapshot.pods.map((desired) => [podName(desired.pod), desired]));
      const runs = new Map(outcome?.steps.map(({ name, run }) => [name, run]));
      return this.statuses(source).flatMap((status): readonly PodTurn[] => {
        const desired = pods.get(status.name);
        const isBack = runs.get(status.name) === "Good";
        return desired === undefined ? [] : [{ ...status, source, desired, isBack }];
      });
    });
  }

  /** Of the pods of the document of `source`; empty = none was judged yet. */
  statuses(source: SourceName): readonly PodRolloutStatus[] {
    const outcome = this.#documents.get(source)?.outcome;
    return (outcome?.steps ?? []).map(({ name, status, state: { good } }) => {
      return { name, status, ...withoutUndefined({ goodGeneration: good?.generation }) };
    });
  }

  /** A pod of this generation of `source` was rolled back, or failed without a way back. */
  hasFailed(source: SourceName, generation: number): boolean {
    const outcome = this.#documents.get(source)?.outcome;
    if (outcome?.generation !== generation) return false;
    return outcome.steps.some(({ status }) => ["RolledBack", "Failed"].includes(status.type));
  }

  objectsOf(desired: DesiredPod): LocalObjects {
    const { rollout } = this.#documents.get(desired.source) ?? {};
    return rollout?.objectsOf(desired) ?? this.#options.written.objectsFor(desired);
  }

  /** What pods find beside the newest snapshots of the sources. */
  pinnedObjects(): readonly LocalObject[] {
    return [...this.#documents.values()].flatMap(({ rollout }) => rollout.pinnedObjects());
  }

  imageOf(uid: PodUID, container: string): string | undefined {
    for (const { rollout } of this.#documents.values()) {
      const image = rollout.imageOf(uid, container);
      if (image !== undefined) return image;
    }
    return undefined;
  }

  /** What rollbacks need. */
  goodImages(): readonly GoodImages[] {
    return [...this.#documents.values()].flatMap(({ rollout }) => rollout.goodImages());
  }

  /** The health of every pod that has a worker, at this moment. */
  health(): ReadonlyMap<PodUID, PodHealth> {
    return this.#pods.look();
  }

  /** Whether an update depends on the status of this pod. */
  concerns(uid: PodUID): boolean {
    return this.#open.has(uid);
  }

  /** Documents with the state of their updates. */
  withRollouts(states: readonly DocumentState[]): readonly DocumentState[] {
    const { images, pods } = this.#options;
    return states.map((state) => ({
      ...state,
      rollout: this.statuses(state.source),
      images: imageProgress(state.document?.pods ?? [], images, (uid) => pods.cache.get(uid)),
    }));
  }

  /** Whether a hold or a lock keeps this pod from replacing its predecessor at this moment. */
  isHeld(desired: DesiredPod): boolean {
    const known = this.#documents.get(desired.source);
    if (known === undefined) return false;
    const { policy } = known.snapshot.document ?? {};
    const isOpen = this.#open.has(desired.uid);
    const hasBefore = this.statuses(desired.source).some(
      ({ name, goodGeneration }) => name === podName(desired.pod) && goodGeneration !== undefined,
    );
    if (policy === undefined || !isOpen || !hasBefore) return false;
    const { hold } = this.#options.holds.ofUpdate(desired, policy);
    // The status of the update has to follow.
    if (hold !== undefined) this.#options.onDue();
    return hold !== undefined;
  }

  /** The broker has answered: an update may have waited for that. */
  reached(): void {
    const steps = [...this.#documents.values()].flatMap(({ outcome }) => outcome?.steps ?? []);
    if (steps.some(({ state }) => state.trial?.needsUpstream === true)) this.#options.onDue();
  }

  /** `namespace/name` of all pods that any document has. */
  names(): readonly string[] {
    const all = [...this.#documents.values()].flatMap(({ snapshot }) => snapshot.pods);
    return [...new Set(all.map(({ pod }) => podName(pod)))];
  }

  /** Tries again what has failed under this `namespace/name`. */
  release(name: string): void {
    for (const { rollout } of this.#documents.values()) rollout.release(name);
  }

  /** Forgets what is stored for pods that no longer exist. */
  forgetGone(): void {
    const { log } = this.#options.edges;
    for (const { rollout } of this.#documents.values())
      try {
        rollout.forgetGone();
      } catch (error) {
        log.warn("cannot forget a pod that is gone", { error: messageOf(error) });
      }
  }

  [Symbol.dispose](): void {
    this.#review[Symbol.dispose]();
    this.#options.prefetch.want([]);
  }

  /** Records that pods of the document before did not prove themselves in time. */
  #supersede({ source, document, pods }: SourceSnapshot, by: number): void {
    const { edges, record } = this.#options;
    const open = pods.filter(({ uid }) => this.#open.has(uid));
    if (document === undefined || open.length === 0) return;
    const { generation } = document;
    if (this.hasFailed(source, generation)) return;
    const message = `generation ${generation} of ${source} was superseded by generation ${by} before it had converged`;
    edges.log.info("Superseded", { source, generation, by });
    for (const { pod } of open)
      record(podEvent(pod.metadata, { type: "Normal", reason: "Superseded", message }));
  }

  #build(source: SourceName): DocumentRollout {
    const { rollouts, secrets } = this.#options.edges.store;
    return new DocumentRollout({
      ...this.#options,
      source,
      store: rollouts,
      secrets,
      pods: this.#pods,
    });
  }

  #reviewAt(at: Monotonic | undefined): void {
    const soonest = this.#options.edges.clock.monotonic() + SOONEST_MS;
    this.#review.set(at === undefined ? undefined : Math.max(soonest, at));
  }
}
