// Performs: who may act under a name: never two pods of one name at once, no pod before those it depends on. Says what
// is waited for.

import type { DesiredPod, DesiredState } from "../api/pod/desired-pod.ts";
import { podEvent, type RecordEvent } from "../api/v1/events.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import type { PodStatus } from "../api/v1/pod-status.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import type { Removal } from "../api/pod/removal.ts";
import { AgentError, messageOf, reasonOf } from "../lib/errors.ts";
import { hasBegun } from "./deadline.ts";
import { unmetDependency, type DependencyView } from "./dependencies.ts";
import { mayReplace, nameOf } from "./plan.ts";
import type { PodLife } from "./pod-life.ts";
import type { PodWorker } from "./pod-worker.ts";
import { aborted } from "../lib/clock.ts";

export interface SuccessionOptions {
  readonly bootId: string;
  readonly record: RecordEvent;
  readonly workers: ReadonlyMap<PodUID, PodWorker>;
  readonly cached: (uid: PodUID) => ObservedPod | undefined;
  readonly observed: () => ReadonlyMap<PodUID, ObservedPod>;
  readonly status: (uid: PodUID) => PodStatus | undefined;
  readonly fetchImages: (pod: Pod, signal: AbortSignal) => Promise<void>;
  /** Throws AgentError `CreateContainerConfigError` for what the pod reads and nobody has. Absent = it needs nothing. */
  readonly requireConfig?: ((desired: DesiredPod) => void) | undefined;
  /** Somebody keeps the pod from taking its predecessor's place; asked right before it does. Absent = nobody does. */
  readonly isHeld?: ((desired: DesiredPod) => boolean) | undefined;
  /** Writes the removals down and gives the orders. */
  readonly remove: (removals: readonly Removal[]) => void;
  /** Publishes what is true of a pod that may not act yet. */
  readonly say: (desired: DesiredPod, life: PodLife) => void;
  readonly onChange: (uid: PodUID) => void;
}

/** Why a pod that shall run does not start yet. */
export interface WhyPending {
  readonly reason: string;
  readonly message: string;
}

const SILENT = { reason: "SourceNotReady", message: "the old pod's source has not spoken yet" };
export const PULLING = { reason: "Pulling", message: "pulling the images of the new spec" };
const STOPPING = { reason: "Stopping", message: "waiting for the old pod to stop" };
const HELD = { reason: "Held", message: "somebody holds the update back" };
const DEPENDENCY = "DependencyNotReady";
const MISSING = "CreateContainerConfigError";
/** Whoever waits for one of these pulls nothing. */
const OTHER_WAITS = [STOPPING.reason, DEPENDENCY, MISSING];

export class Succession {
  readonly #options: SuccessionOptions;
  readonly #pending = new Map<PodUID, WhyPending>();
  /** namespace/name → what shall run under it. */
  #current = new Map<string, DesiredPod>();
  #ready: DesiredState["ready"] = new Set();

  constructor(options: SuccessionOptions) {
    this.#options = options;
  }

  /** What shall run from now on. */
  update({ pods, ready }: DesiredState): void {
    this.#current = new Map(pods.map((desired) => [nameOf(desired.pod.metadata), desired]));
    this.#ready = ready;
  }

  pending(uid: PodUID): WhyPending | undefined {
    return this.#pending.get(uid);
  }

  /** Whether the pod waits for images before it takes over its name. */
  isPulling(uid: PodUID): boolean {
    const reason = this.#pending.get(uid)?.reason;
    return reason !== undefined && !OTHER_WAITS.includes(reason);
  }

  forget(uid: PodUID): void {
    this.#pending.delete(uid);
  }

  /** The status of some pod changed: whoever depends on one looks again. */
  onStatusChanged(): void {
    for (const [uid, { reason }] of this.#pending)
      if (reason === DEPENDENCY) this.#options.workers.get(uid)?.notify();
  }

  isCurrent(worker: PodWorker): boolean {
    const current = this.#current.get(nameOf(worker));
    // A name that nobody wants any more, but whose source has not spoken: it goes on as before.
    return current === undefined || current.uid === worker.uid;
  }

  /** Pods of ours in the runtime that have no worker. */
  strays(): readonly ObservedPod[] {
    const { observed, workers } = this.#options;
    return [...observed().values()].filter(({ uid }) => !workers.has(uid));
  }

  /** Never both: a wanted pod ends every other UID of its name first, but not before its own images and objects are here. */
  async clearName(own: PodWorker, life: PodLife, signal: AbortSignal): Promise<boolean> {
    if (!this.isCurrent(own)) return this.#exists(own) && !this.#mustWait(own, life);
    if (this.#mustWait(own, life)) return false;
    const others = this.#others(own);
    if (others.length === 0) {
      this.#pending.delete(own.uid);
      return true;
    }
    if (others.some((other) => !this.#mayEnd(other, own))) {
      this.#say(own, SILENT);
      return false;
    }
    if (!this.#exists(own)) {
      // Nobody is asked for images of a pod that misses something else.
      if (this.#pending.get(own.uid)?.reason === MISSING) this.#readFirst(own, life);
      if ((this.#pending.get(own.uid) ?? SILENT) === SILENT) this.#say(own, PULLING);
      await this.#pullFirst(own, life, signal);
      this.#readFirst(own, life);
    }
    if (signal.aborted || !this.isCurrent(own)) return false;
    if (this.#isHeld(own)) {
      this.#say(own, HELD);
      return false;
    }
    this.#say(own, STOPPING);
    const running = this.#others(own);
    this.#options.remove(
      running
        .filter(({ uid }) => this.#options.workers.get(uid)?.removal === undefined)
        .map(({ uid, namespace, name }) => ({ uid, namespace, name, why: "Replaced" })),
    );
    const ends = running.map(
      ({ uid }) => this.#options.workers.get(uid)?.gone ?? Promise.resolve(),
    );
    await Promise.race([Promise.all(ends), aborted(signal)]);
    this.#pending.delete(own.uid);
    return !signal.aborted && this.isCurrent(own);
  }

  /** A pod that has not begun in this boot waits for those it depends on, and what runs under its name runs on. */
  #mustWait(own: PodWorker, life: PodLife): boolean {
    const { cached, bootId, record } = this.#options;
    const { desired } = own;
    if (desired === undefined || hasBegun(cached(own.uid), bootId)) return false;
    const message = unmetDependency(desired.pod, this.#dependencies());
    if (message === undefined) {
      if (this.#pending.get(own.uid)?.reason !== DEPENDENCY) return false;
      this.#pending.delete(own.uid);
      life.forgetPodFailure();
      return false;
    }
    if (this.#pending.get(own.uid)?.message === message) return true;
    this.#note(own, life, new AgentError({ reason: DEPENDENCY, message }));
    const said = { type: "Normal", reason: DEPENDENCY, message } as const;
    record(podEvent(desired.pod.metadata, said));
    this.#options.say(desired, life);
    return true;
  }

  #dependencies(): DependencyView {
    const { workers, status } = this.#options;
    return {
      pod: (name) => this.#current.get(name)?.pod,
      status: (name) => {
        const running = [...workers.values()].filter(
          (worker) => nameOf(worker) === name && worker.removal === undefined,
        );
        // While a successor waits, what counts is what runs.
        const shown = running.find((worker) => this.#exists(worker)) ?? running[0];
        return shown === undefined ? undefined : status(shown.uid);
      },
    };
  }

  /** Not of one that has begun: from there on there is only forward, or back by its own document. */
  #isHeld(own: PodWorker): boolean {
    if (own.desired === undefined || this.#exists(own)) return false;
    return this.#options.isHeld?.(own.desired) === true;
  }

  async #pullFirst(own: PodWorker, life: PodLife, signal: AbortSignal): Promise<void> {
    // Whoever asks for it has no room for two images.
    if (own.desired === undefined || own.desired.stopFirst === true) return;
    try {
      await this.#options.fetchImages(own.desired.pod, signal);
    } catch (error) {
      if (!signal.aborted) this.#note(own, life, error);
      throw error;
    }
  }

  /** Whoever could not start must not end what runs: it is tried again, and whenever an object comes. */
  #readFirst(own: PodWorker, life: PodLife): void {
    if (own.desired === undefined) return;
    const { requireConfig, record, say } = this.#options;
    const before = this.#pending.get(own.uid);
    try {
      requireConfig?.(own.desired);
    } catch (error) {
      const message = messageOf(error);
      if (before?.message !== message) {
        this.#note(own, life, error);
        const said = { type: "Warning", reason: "Failed", message: `Error: ${message}` } as const;
        record(podEvent(own.desired.pod.metadata, said));
        say(own.desired, life);
      }
      throw error;
    }
    if (before?.reason !== MISSING) return;
    life.forgetPodFailure();
    this.#say(own, PULLING);
  }

  /** Also for the status of the pod itself. */
  #note(own: PodWorker, life: PodLife, error: unknown): void {
    if (own.desired !== undefined) life.notePodFailure(own.desired.pod, error);
    this.#say(own, { reason: reasonOf(error, "ErrImagePull"), message: messageOf(error) });
  }

  #say(own: PodWorker, why: WhyPending): void {
    this.#pending.set(own.uid, why);
    this.#options.onChange(own.uid);
  }

  /** Whatever else carries the name: workers that are not gone yet, and pods only the runtime knows. */
  #others(own: PodWorker): readonly (PodWorker | ObservedPod)[] {
    const working = [...this.#options.workers.values()].filter(
      (worker) => worker.phase !== "Terminated",
    );
    return [...working, ...this.strays()].filter(
      (other) => other.uid !== own.uid && nameOf(other) === nameOf(own),
    );
  }

  #mayEnd(other: PodWorker | ObservedPod, own: PodWorker): boolean {
    const isLeaving = this.#options.workers.get(other.uid)?.removal !== undefined;
    const source = "source" in other ? other.source : other.desired?.source;
    if (isLeaving || own.desired === undefined) return true;
    return mayReplace(source, own.desired.source, this.#ready);
  }

  #exists(worker: PodWorker): boolean {
    return this.#options.cached(worker.uid) !== undefined;
  }
}
