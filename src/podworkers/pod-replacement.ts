// Performs: decides which pod may act under a name: never two of one name at once, and none before those it depends on.
// Records why a pod waits.

import type { DesiredPod, DesiredState, Removal } from "../api/pod/desired-pod.ts";
import { podEvent, warning, type RecordEvent } from "../api/v1/events.ts";
import type { Edges } from "../edges.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import { AgentError, messageOf, reasonOf, CONFIG_ERROR } from "../lib/errors.ts";
import { countsFor, hasBegun, unmetDependency, type DependencyView } from "./dependencies.ts";
import { isSystemCritical } from "../api/resource/priority.ts";
import { isStatic } from "../api/pod/labels.ts";
import { declaredBy } from "../source/rejections.ts";
import { GRACE_BEFORE_FILES_SECONDS, mustMakeRoom, type RoomFacts } from "./make-room.ts";
import { mayReplace, nameOf, removalOf, type PodIdentity } from "./plan-workers.ts";
import type { PodSyncer } from "./pod-syncer.ts";
import type { PodWorker } from "./pod-worker.ts";
import {
  DEPENDENCY,
  PULLING,
  STOPPING,
  takesNoRoom,
  type Pods,
  type WhyPending,
  type WorkerRegistry,
} from "./pods.ts";
import { aborted } from "../lib/clock.ts";
import { podHand } from "../store/start-guard/hand.ts";
import { START_GUARD, type WorkGuard } from "../store/start-guard/start-guard.ts";

export interface PodReplacementOptions extends Pick<Edges, "meter"> {
  readonly pods: Pods;
  readonly bootId: string;
  readonly record: RecordEvent;
  readonly fetchImages: FetchImages;
  /** Throws AgentError `CreateContainerConfigError` for an object that the pod reads and that is missing; absent = never. */
  readonly requireConfig?: ((desired: DesiredPod) => void) | undefined;
  /** Whether an update is on hold; asked right before the pod replaces its predecessor. Absent = never. */
  readonly isHeld?: ((desired: DesiredPod) => boolean) | undefined;
  /** Writes the removals to the database and starts them. */
  readonly remove: (removals: readonly Removal[]) => void;
  /** The node, which limits what runs on it side by side; absent = it takes every pod. */
  readonly room?: (() => Pick<RoomFacts, "node" | "desired">) | undefined;
  readonly syncer: Pick<PodSyncer, "publishCached">;
  readonly guard: WorkGuard;
  readonly onChange: (uid: PodUID) => void;
}

/** Resolves when all images of the pod are on this node. */
export type FetchImages = (pod: Pod, signal: AbortSignal) => Promise<void>;

const NOT_SYNCED = {
  reason: "SourceNotReady",
  message: "the old pod's source has not synced yet",
};
const HELD = { reason: "Held", message: "the update is on hold" };

/** A pod that must be gone, and what it has that is short. */
interface InTheWay {
  readonly worker: PodWorker;
  readonly has: string;
}

export class PodReplacement {
  readonly #options: PodReplacementOptions;
  #ready: DesiredState["ready"] = new Set();
  /** Names under which the merge has refused a pod. */
  #held: DesiredState["held"] = new Set();
  /** Workers of which the runtime had something at one of their turns. */
  readonly #begun = new WeakSet<PodWorker>();
  /** Workers that did not begin at their last turn, and were not removed: their pod was refused before its source had synced. */
  readonly #passedOver = new WeakSet<PodWorker>();

  constructor(options: PodReplacementOptions) {
    this.#options = options;
  }

  get #workers(): WorkerRegistry {
    return this.#options.pods.workers;
  }

  update(desired: DesiredState): void {
    this.#workers.setDesired(desired);
    this.#ready = desired.ready;
  }

  /** `held`: of the last merge, without the names whose pods this process stops and that only wait for the next merge. */
  refuse(held: DesiredState["held"]): void {
    this.#held = held;
  }

  /** Pods of this agent in the runtime that have no worker. */
  strays(): readonly ObservedPod[] {
    const { cache, workers } = this.#options.pods;
    return [...cache.all().values()].filter(({ uid }) => !workers.has(uid));
  }

  /** A pod stops every other UID of its name before it starts, but not before its own images and objects are here. */
  async clearName(own: PodWorker, signal: AbortSignal): Promise<boolean> {
    this.#passedOver.delete(own);
    if (this.#isRefused(own)) {
      const source = own.desired?.source;
      // Until its source has synced, nothing of it is removed: it only does not begin.
      if (source !== undefined && this.#ready.has(source))
        this.#options.remove([removalOf(own, "Deleted")]);
      else this.#passedOver.add(own);
      return false;
    }
    return !this.#isSuspect(own, signal) && (await this.#clearOthers(own, signal));
  }

  /** Whether its next turn may come to something else without a change of the pod. */
  isPassedOver(own: PodWorker): boolean {
    return this.#passedOver.has(own);
  }

  async #clearOthers(own: PodWorker, signal: AbortSignal): Promise<boolean> {
    if (!this.#workers.isCurrent(own)) return this.#workers.exists(own) && !this.#mustWait(own);
    if (this.#mustWait(own)) return false;
    const others = [...this.#others(own), ...this.#inTheWay(own).map(({ worker }) => worker)];
    if (others.length === 0) {
      this.#workers.clearPending(own.uid);
      return true;
    }
    if (others.some((other) => !this.#mayEnd(other, own))) {
      this.#setPending(own, NOT_SYNCED);
      return false;
    }
    if (!this.#workers.exists(own)) {
      // No image is pulled for a pod that misses an object.
      if (this.#workers.pending(own.uid)?.reason === CONFIG_ERROR) this.#readFirst(own);
      if ((this.#workers.pending(own.uid) ?? NOT_SYNCED) === NOT_SYNCED)
        this.#setPending(own, PULLING);
      await this.#pullFirst(own, signal);
      this.#readFirst(own);
    }
    if (signal.aborted || !this.#workers.isCurrent(own)) return false;
    if (this.#isHeld(own)) {
      this.#setPending(own, HELD);
      return false;
    }
    await this.#endOthers(own, signal);
    return !signal.aborted && this.#workers.isCurrent(own);
  }

  /**
   * The node refused it while its first calls were under way, and they have come to nothing: it does not begin any more. What
   * has run goes on, also where the runtime has lost all of it.
   */
  #isRefused(own: PodWorker): boolean {
    if (this.#workers.exists(own)) this.#begun.add(own);
    const name = nameOf(own);
    const hasPlace = this.#workers.desired(name) !== undefined || !this.#held.has(name);
    return !hasPlace && !this.#begun.has(own);
  }

  /** A pod whose syncs have ended the agent twice waits (start-guard); what runs of it, or before it, runs on. */
  #isSuspect(own: PodWorker, signal: AbortSignal): boolean {
    const { desired } = own;
    if (desired === undefined) return false;
    const { guard, syncer } = this.#options;
    const hand = podHand(own);
    const message = guard.waits(hand);
    const isNoted = this.#workers.pending(own.uid)?.reason === START_GUARD;
    if (message === undefined) {
      if (!isNoted) return false;
      this.#workers.clearPending(own.uid);
      own.syncState.forgetPodFailure();
      return false;
    }
    if (!isNoted) {
      this.#note(own, new AgentError({ reason: START_GUARD, message }));
      void guard.free(hand, signal).then((isFree) => isFree && own.notify());
    }
    syncer.publishCached(desired, own.syncState);
    return true;
  }

  /** Stops the older pods of the name, and those in the way of one that comes first. */
  async #endOthers(own: PodWorker, signal: AbortSignal): Promise<void> {
    const older = this.#others(own);
    const short = this.#inTheWay(own);
    const inTheWay = short.map(({ worker }) => worker);
    this.#setPending(own, STOPPING);
    if (short.length > 0) this.#notePreempting(own, short);
    const stays = ({ uid }: PodIdentity): boolean => this.#workers.get(uid)?.removal === undefined;
    this.#options.remove([
      ...older.filter(stays).map((one) => removalOf(one, "Replaced")),
      ...inTheWay.filter(stays).map((one) => removalOf(one, "Preempted")),
    ]);
    const ending = [...older, ...inTheWay].flatMap(({ uid }) => this.#workers.get(uid) ?? []);
    for (const worker of ending) this.#hurry(worker, own);
    await Promise.race([Promise.all(ending.map(({ gone }) => gone)), aborted(signal)]);
    if (inTheWay.length > 0) own.syncState.forgetPodFailure();
    this.#workers.clearPending(own.uid);
  }

  /** Pods of other names that need to be gone before it starts. */
  #inTheWay(own: PodWorker): readonly InTheWay[] {
    const { room, pods } = this.#options;
    if (own.desired === undefined || room === undefined || this.#workers.exists(own)) return [];
    const others = this.#workers.list().filter((other) => other !== own && !other.isGone);
    const isOver = (uid: PodUID): boolean => takesNoRoom(pods, uid);
    const found = mustMakeRoom(own.desired, { ...room(), workers: others, isOver });
    const short = new Map(found.map(({ uid, has }) => [uid, has]));
    return others.flatMap((worker) => {
      const has = short.get(worker.uid);
      return has === undefined ? [] : { worker, has };
    });
  }

  /** A pod of a file waits no longer for one of a document than the node's own limit. */
  #hurry(other: PodWorker, own: Pick<PodWorker, "desired">): void {
    if (own.desired === undefined || !isStatic(own.desired.source)) return;
    const source = other.desired?.source ?? this.#options.pods.cache.get(other.uid)?.source;
    if (source !== undefined && !isStatic(source)) other.shortenGrace(GRACE_BEFORE_FILES_SECONDS);
  }

  /** A life of this UID that a document began, and that still ends, delays a file's pod no longer than the node's limit. */
  hurryOldLife(desired: DesiredPod): void {
    const worker = this.#workers.get(desired.uid);
    if (worker?.removal !== undefined) this.#hurry(worker, { desired });
  }

  #notePreempting(own: PodWorker, others: readonly InTheWay[]): void {
    const { record, syncer, meter } = this.#options;
    const { desired } = own;
    if (desired === undefined) return;
    const names = others.map(({ worker }) => nameOf(worker)).join(", ");
    const message = `waiting for ${names} to stop: ${kindOf(desired)} come first`;
    own.syncState.notePodFailure(desired.pod, new AgentError({ reason: STOPPING.reason, message }));
    syncer.publishCached(desired, own.syncState);
    const preempted = `Preempted in order to admit pod ${nameOf(own)} of ${declaredBy(desired)}`;
    for (const { worker, has } of others.filter((other) => other.worker.removal === undefined)) {
      record(podEvent(worker, warning("Preempting", preempted)));
      meter?.count("kubelet_preemptions", { preemption_signal: has });
    }
  }

  /** A pod that has not begun in this boot waits for its dependencies; until then the pod that runs under its name runs on. */
  #mustWait(own: PodWorker): boolean {
    const { pods, bootId, record, syncer } = this.#options;
    const { desired } = own;
    if (desired === undefined || hasBegun(pods.cache.get(own.uid), bootId)) return false;
    const message = unmetDependency(desired.pod, this.#dependencies(desired));
    if (message === undefined) {
      if (this.#workers.pending(own.uid)?.reason !== DEPENDENCY) return false;
      this.#workers.clearPending(own.uid);
      own.syncState.forgetPodFailure();
      return false;
    }
    if (this.#workers.pending(own.uid)?.message === message) return true;
    this.#note(own, new AgentError({ reason: DEPENDENCY, message }));
    record(podEvent(desired.pod.metadata, { type: "Normal", reason: DEPENDENCY, message }));
    syncer.publishCached(desired, own.syncState);
    return true;
  }

  #dependencies(own: DesiredPod): DependencyView {
    const { workers, statuses } = this.#options.pods;
    const counts = (other: DesiredPod | undefined): boolean =>
      other !== undefined && countsFor(own, other);
    return {
      pod: (name) => {
        const wanted = workers.desired(name);
        return counts(wanted) ? wanted?.pod : undefined;
      },
      isIgnored: (name) => workers.desired(name) !== undefined,
      status: (name) => {
        const running = workers
          .list()
          .filter((worker) => nameOf(worker) === name && worker.removal === undefined)
          .filter((worker) => counts(worker.desired));
        // While a successor waits, the pod that runs counts.
        const shown = running.find((worker) => this.#workers.exists(worker)) ?? running[0];
        return shown === undefined ? undefined : statuses.status(shown.uid);
      },
    };
  }

  /** An update that has begun is not held any more: only a rollback ends it. */
  #isHeld(own: PodWorker): boolean {
    if (own.desired === undefined || this.#workers.exists(own)) return false;
    return this.#options.isHeld?.(own.desired) === true;
  }

  async #pullFirst(own: PodWorker, signal: AbortSignal): Promise<void> {
    // stop-then-pull: there is no room for both images.
    if (own.desired === undefined || own.desired.stopFirst === true) return;
    try {
      await this.#options.fetchImages(own.desired.pod, signal);
    } catch (error) {
      if (!signal.aborted) {
        this.#note(own, error);
        this.#options.syncer.publishCached(own.desired, own.syncState);
      }
      throw error;
    }
  }

  /** A pod that could not start must not stop the one that runs; retried also when an object is added. */
  #readFirst(own: PodWorker): void {
    if (own.desired === undefined) return;
    const { requireConfig, record, syncer } = this.#options;
    const before = this.#workers.pending(own.uid);
    try {
      requireConfig?.(own.desired);
    } catch (error) {
      const message = messageOf(error);
      if (before?.message !== message) {
        this.#note(own, error);
        const event = { type: "Warning", reason: "Failed", message: `Error: ${message}` } as const;
        record(podEvent(own.desired.pod.metadata, event));
        syncer.publishCached(own.desired, own.syncState);
      }
      throw error;
    }
    if (before?.reason !== CONFIG_ERROR) return;
    own.syncState.forgetPodFailure();
    this.#setPending(own, PULLING);
  }

  /** The reason also shows in the status of the pod itself. */
  #note(own: PodWorker, error: unknown): void {
    if (own.desired !== undefined) own.syncState.notePodFailure(own.desired.pod, error);
    this.#setPending(own, { reason: reasonOf(error, "ErrImagePull"), message: messageOf(error) });
  }

  #setPending(own: PodWorker, why: WhyPending): void {
    this.#workers.setPending(own.uid, why);
    this.#options.onChange(own.uid);
  }

  /** Other pods of the name: workers that have not ended, and pods that only the runtime shows. */
  #others(own: PodWorker): readonly (PodWorker | ObservedPod)[] {
    const working = this.#workers.list().filter(({ phase }) => phase !== "Terminated");
    return [...working, ...this.strays()].filter(
      (other) => other.uid !== own.uid && nameOf(other) === nameOf(own),
    );
  }

  #mayEnd(other: PodWorker | ObservedPod, own: PodWorker): boolean {
    const isLeaving = this.#workers.get(other.uid)?.removal !== undefined;
    const source = "source" in other ? other.source : other.desired?.source;
    if (isLeaving || own.desired === undefined) return true;
    return mayReplace(source, own.desired.source, this.#ready);
  }
}

/** Of pods that others make room for. */
function kindOf({ pod, source }: DesiredPod): string {
  if (isSystemCritical(pod.spec)) return "critical pods";
  return isStatic(source) ? "pods of files" : "pods that the document lists";
}
