// Performs: the updates of all documents on this node: gives them the node's facts, and tells how each pod stands to
// its document.

import { podEvent, type RecordEvent } from "../api/v1/events.ts";
import type { DocumentState, ImageProgress } from "../protocol/desired-document.ts";
import type { DesiredPod, SourceName, SourceSnapshot } from "../api/pod/desired-pod.ts";
import type { LocalObject, LocalObjects } from "../api/v1/local-object.ts";
import { podName, type PodUID } from "../api/v1/pod.ts";
import { revisionOf } from "../api/pod/revision.ts";
import type { PodStanding } from "../api/pod/rollout.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { DocumentRollouts } from "./document-rollouts.ts";
import type { RolloutOutcome } from "./rollout-document.ts";
import type { UpstreamFacts } from "./trial-facts.ts";
import type { Edges } from "../edges.ts";
import type { ImageLedger } from "../image/image-ledger.ts";
import { imagesOf, isRunning, isThere } from "./pods-of-source.ts";
import type { Prefetch } from "../image/prefetch.ts";
import { StandingsTold, type PodTurn } from "./rollout-events.ts";
import type { UpdateHolds } from "./update-holds.ts";
import { TrialProgress, type TrialProgressOptions } from "./trial-progress.ts";
import { isSameList } from "../lib/compare.ts";

/** What all sources say by now. */
export interface RolloutView {
  objectsFor(desired: DesiredPod): LocalObjects;
  /** What the pod reads and may still come (`ConfigMap default/web`). */
  late(desired: DesiredPod): readonly string[];
  /** Another source has its name. */
  isShadowed(desired: DesiredPod): boolean;
}

export interface RolloutsOptions extends Omit<TrialProgressOptions, "configDigest"> {
  readonly edges: Pick<Edges, "clock" | "log" | "store" | "sha256" | "bootId">;
  readonly nodeName: string;
  readonly record: RecordEvent;
  readonly view: RolloutView;
  readonly images: Pick<ImageLedger, "fatal" | "registryAnswers" | "areAway">;
  readonly upstream: () => UpstreamFacts;
  /** Who keeps this pod from being updated. */
  readonly holds: Pick<UpdateHolds, "of" | "ofRunning">;
  readonly prefetch: Pick<Prefetch, "want">;
  readonly progress: (pods: readonly DesiredPod[]) => ImageProgress;
  /** Something may have to be decided. */
  readonly onDue: () => void;
}

/** Whatever time alone may change can wait so long. */
const SOONEST_MS = 20;

interface Known {
  readonly rollouts: DocumentRollouts;
  readonly snapshot: SourceSnapshot;
  outcome: RolloutOutcome | undefined;
}

export class Rollouts implements Disposable {
  readonly #options: RolloutsOptions;
  readonly #documents = new Map<SourceName, Known>();
  readonly #progress: TrialProgress;
  readonly #told: StandingsTold;
  /** On trial, or failed without a way back. */
  #open: ReadonlySet<PodUID> = new Set();
  #timer: Disposable | undefined;

  constructor(options: RolloutsOptions) {
    this.#options = options;
    this.#told = new StandingsTold({ log: options.edges.log, record: options.record });
    const { secrets } = options.edges.store;
    this.#progress = new TrialProgress({
      ...options,
      configDigest: (text) => secrets.configDigest(text),
    });
  }

  /** The newest word of a source; one that is no document, or cannot be read whole, is not judged. */
  hear(snapshot: SourceSnapshot): void {
    const { source, document, pods, ready } = snapshot;
    if (document === undefined) {
      this.#documents.delete(source);
      if (ready) this.#forgetAll(source);
      return;
    }
    const known = this.#documents.get(source);
    const rollouts = known?.rollouts ?? this.#build(source);
    if (known?.snapshot.document !== document) {
      const listed = pods.map((desired) => ({
        desired,
        written: document.written.get(podName(desired.pod)) ?? {},
      }));
      rollouts.update({ ...document, pods: listed });
      if (known !== undefined) this.#supersede(known.snapshot, document.generation);
    }
    this.#documents.set(source, { rollouts, snapshot, outcome: known?.outcome });
  }

  /** A group that was left: its next document begins anew. */
  #forgetAll(source: SourceName): void {
    const { store, log } = this.#options.edges;
    try {
      const names = [...store.rollouts.of(source).keys()];
      store.rollouts.forget(names.map((name) => ({ source, name })));
    } catch (error) {
      // It says so again at the next start.
      log.warn("cannot forget the updates of a document", { source, error: messageOf(error) });
    }
  }

  /** Looks at all of them; which pods find something else from now on. */
  review(): readonly PodUID[] {
    this.#progress.look([...this.#documents.values()].flatMap(({ snapshot }) => snapshot.pods));
    const outcomes = [...this.#documents].map(([source, known]) => {
      const outcome = known.rollouts.review();
      known.outcome = outcome;
      if (outcome.trouble !== undefined)
        this.#options.edges.log.error("cannot write down how an update stands", {
          source,
          error: messageOf(outcome.trouble),
        });
      return outcome;
    });
    const { open, waiting } = this.#told.tell(this.#turns());
    this.#open = open;
    this.#options.prefetch.want(waiting);
    this.#comeBack(outcomes.flatMap(({ reviewAt }) => reviewAt ?? []));
    return outcomes.flatMap(({ repinned }) => repinned);
  }

  /** What may run of a source's word; the snapshot itself where that is all of it. */
  effective(snapshot: SourceSnapshot): SourceSnapshot {
    const outcome = this.#documents.get(snapshot.source)?.outcome;
    if (outcome === undefined) return snapshot;
    const { pods, held } = outcome;
    return held.length === 0 && isSameList(pods, snapshot.pods)
      ? snapshot
      : { ...snapshot, pods, held };
  }

  #turns(): readonly PodTurn[] {
    return [...this.#documents].flatMap(([source, { snapshot, outcome }]) => {
      const pods = new Map(snapshot.pods.map((desired) => [podName(desired.pod), desired]));
      const runs = new Map(outcome?.steps.map(({ name, run }) => [name, run]));
      return this.standings(source).flatMap((standing): readonly PodTurn[] => {
        const desired = pods.get(standing.name);
        const isBack = runs.get(standing.name) === "Good";
        return desired === undefined ? [] : [{ source, desired, standing, isBack }];
      });
    });
  }

  /** By the document of `source`; empty = nothing of it was judged yet. */
  standings(source: SourceName): readonly PodStanding[] {
    const outcome = this.#documents.get(source)?.outcome;
    return (outcome?.steps ?? []).map(({ name, standing, state: { good } }) => {
      const of = { name, standing };
      return good === undefined ? of : { ...of, goodGeneration: good.generation };
    });
  }

  /** Something of this generation of `source` was taken back, or cannot be. */
  hasFailed(source: SourceName, generation: number): boolean {
    const outcome = this.#documents.get(source)?.outcome;
    if (outcome?.generation !== generation) return false;
    return outcome.steps.some(({ standing }) => ["RolledBack", "Failed"].includes(standing.type));
  }

  objectsOf(desired: DesiredPod): LocalObjects {
    const { rollouts } = this.#documents.get(desired.source) ?? {};
    return rollouts?.objectsOf(desired) ?? this.#options.view.objectsFor(desired);
  }

  /** What pods find beside the newest word of the sources. */
  pinnedObjects(): readonly LocalObject[] {
    return [...this.#documents.values()].flatMap(({ rollouts }) => rollouts.pinnedObjects());
  }

  imageOf(uid: PodUID, container: string): string | undefined {
    for (const { rollouts } of this.#documents.values()) {
      const image = rollouts.imageOf(uid, container);
      if (image !== undefined) return image;
    }
    return undefined;
  }

  /** Whether anything may depend on how this pod does. */
  concerns(uid: PodUID): boolean {
    return this.#open.has(uid);
  }

  /** Documents with how their pods stand to them. */
  standing(states: readonly DocumentState[]): readonly DocumentState[] {
    const { progress } = this.#options;
    return states.map((state) => ({
      ...state,
      rollout: this.standings(state.source),
      images: progress(state.document?.pods ?? []),
    }));
  }

  /** Whether somebody keeps this pod from taking its predecessor's place, right now. */
  isHeld(desired: DesiredPod): boolean {
    const known = this.#documents.get(desired.source);
    if (known === undefined) return false;
    const { policy } = known.snapshot.document ?? {};
    const isOpen = this.#open.has(desired.uid);
    const hasBefore = this.standings(desired.source).some(
      ({ name, goodGeneration }) => name === podName(desired.pod) && goodGeneration !== undefined,
    );
    if (policy === undefined || !isOpen || !hasBefore) return false;
    const { hold } = this.#options.holds.of(desired, policy.maxLockSeconds);
    if (hold !== undefined) this.#options.onDue();
    return hold !== undefined;
  }

  /** The broker has answered: some update may have waited for that. */
  reached(): void {
    const steps = [...this.#documents.values()].flatMap(({ outcome }) => outcome?.steps ?? []);
    if (steps.some(({ state }) => state.trial?.needsUpstream === true)) this.#options.onDue();
  }

  /** Of all pods that any document has. */
  names(): readonly string[] {
    const all = [...this.#documents.values()].flatMap(({ snapshot }) => snapshot.pods);
    return [...new Set(all.map(({ pod }) => podName(pod)))];
  }

  /** What has failed under this `namespace/name` is tried again. */
  release(name: string): void {
    for (const { rollouts } of this.#documents.values()) rollouts.release(name);
  }

  /** Pods may be gone for good. */
  forgetGone(): void {
    for (const { rollouts } of this.#documents.values()) {
      try {
        rollouts.forgetGone();
      } catch (error) {
        this.#options.edges.log.warn("cannot forget a pod that is gone", {
          error: messageOf(error),
        });
      }
    }
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#options.prefetch.want([]);
  }

  /** Whatever of the document before has not proved itself will not do so any more. */
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

  #build(source: SourceName): DocumentRollouts {
    const { edges, nodeName, view, upstream, holds } = this.#options;
    const { store, clock, sha256, bootId } = edges;
    const secretDigest = (text: string): string => store.secrets.configDigest(text);
    return new DocumentRollouts({
      source,
      store: store.rollouts,
      bootId,
      context: { ref: source, nodeName, sha256 },
      revision: (desired, objects) => revisionOf(desired, { objects, sha256, secretDigest }),
      objects: (desired) => view.objectsFor(desired),
      late: (desired) => view.late(desired),
      isShadowed: (desired) => view.isShadowed(desired),
      isThere: (name) => isThere(this.#options.pods(), source, name),
      isKnown: (uid) => this.#options.pods().cache.get(uid) !== undefined,
      isRunning: (uid) => isRunning(this.#options.pods(), uid),
      isKeptWaiting: (desired) =>
        this.#options.images.areAway(desired.uid) || this.#progress.misses(desired),
      holdOf: (running, { maxLockSeconds }) => holds.ofRunning(running, maxLockSeconds),
      progress: (desired, { maxLockSeconds }) => ({
        ...this.#progress.of(desired),
        ...holds.of(desired, maxLockSeconds),
      }),
      upstream,
      images: (uid) => imagesOf(this.#options.pods(), uid),
      now: () => clock.monotonic(),
    });
  }

  #comeBack(times: readonly Monotonic[]): void {
    const { edges, onDue } = this.#options;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (times.length === 0) return;
    const wait = Math.max(SOONEST_MS, Math.min(...times) - edges.clock.monotonic());
    this.#timer = edges.clock.after(wait, onDue);
  }
}
