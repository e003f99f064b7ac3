// Performs: reads what updates need of the pods on this node: which exist, how healthy each is, and what it has read.

import type { DesiredPod, Rejection, SourceName } from "../api/pod/desired-pod.ts";
import { isMeantToFinish } from "../api/pod/restart-policy.ts";
import { podName, type PodUID } from "../api/v1/pod.ts";
import type { ImageLedger } from "../image/pull-results.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import type { PodCache } from "../pleg/pod-cache.ts";
import { nameOf } from "../podworkers/plan-workers.ts";
import { STOPPING, type WorkerRegistry } from "../podworkers/pods.ts";
import type { SourceSnapshots } from "../source/source-snapshots.ts";
import type { StatusManager } from "../status/status-manager.ts";
import { configFreshness, type ConfigFreshness } from "./config-freshness.ts";
import { podHealth, type PodHealth } from "./pod-health.ts";
import type { PodProgress } from "./trial-facts.ts";

export interface PodsOnNodeOptions {
  readonly clock: Pick<Clock, "monotonic">;
  /** Keyed digests: containers carry them where anyone can read them. */
  readonly secrets: { configDigest(text: string): string };
  readonly pods: {
    readonly workers: Pick<WorkerRegistry, "all" | "isPulling" | "leaving" | "pending">;
    readonly statuses: Pick<StatusManager, "status">;
    readonly cache: Pick<PodCache, "get" | "all" | "isComplete">;
  };
  readonly images: Pick<ImageLedger, "fatal" | "registryAnswers" | "areAway">;
  readonly written: Pick<SourceSnapshots, "objectsFor">;
  /** Why the node does not run this pod, as of the last merge; absent or undefined = it may run. */
  readonly refusalOf?: (uid: PodUID) => Rejection | undefined;
  /** A text of a pod without the secrets that this node knows. */
  readonly redact: (text: string) => string;
}

export class PodsOnNode {
  readonly #options: PodsOnNodeOptions;
  #health: ReadonlyMap<PodUID, PodHealth> = new Map();
  /** The content that each pod was ready with, and since when. */
  readonly #read = new Map<PodUID, { readonly content: string; readonly since: Monotonic }>();

  constructor(options: PodsOnNodeOptions) {
    this.#options = options;
  }

  /** The health of every pod that has a worker; `readySince` counts from look to look. */
  look(): ReadonlyMap<PodUID, PodHealth> {
    const { pods, clock, redact } = this.#options;
    const { workers, statuses } = pods;
    const now = clock.monotonic();
    const before = this.#health;
    this.#health = new Map(
      workers.all().map(({ desired, deletedAt }) => {
        const { uid } = desired;
        const terminating = deletedAt !== undefined;
        const facts = { status: statuses.status(uid), now, terminating };
        const pulling = workers.isPulling(uid);
        const health = podHealth(desired, { ...facts, pulling }, before.get(uid));
        const { message } = health;
        return [uid, message === undefined ? health : { ...health, message: redact(message) }];
      }),
    );
    for (const uid of this.#read.keys()) if (!this.#health.has(uid)) this.#read.delete(uid);
    return this.#health;
  }

  /** How the pod does, as of the last look. */
  progressOf(desired: DesiredPod): PodProgress {
    const { images, pods } = this.#options;
    const { uid, pod } = desired;
    const fatal = images.fatal(uid);
    const refusal = this.#options.refusalOf?.(uid);
    const freshness = this.#freshnessOf(desired);
    const health = this.#provenHealth(uid, freshness);
    return {
      health,
      mayHaveRun: health === undefined && (!this.areAllKnown || this.isKnown(uid)),
      isMeantToFinish: isMeantToFinish(pod.spec),
      registryAnswers: images.registryAnswers(uid),
      orderedRestarts: freshness.reads ? 1 : 0,
      misses: freshness.type === "Unusable",
      othersStop: pods.workers.pending(uid)?.reason === STOPPING.reason,
      ...(refusal === undefined
        ? {}
        : { refusal: { reason: refusal.code, message: refusal.message } }),
      ...(fatal === undefined ? {} : { fatal: fatal.why, fatalAt: fatal.at }),
    };
  }

  /** It could not start now: an image was asked for and did not come, or an object that it reads is missing. */
  isKeptWaiting(desired: DesiredPod): boolean {
    if (this.#options.images.areAway(desired.uid)) return true;
    return this.#freshnessOf(desired).type === "Unusable";
  }

  /**
   * Whether anything of this source exists under `name` (`namespace/name`). What another source asks for by now is that
   * one's, also if this source had begun it.
   */
  isThere(source: SourceName, name: string): boolean {
    const { workers, cache } = this.#options.pods;
    const known = workers.all().map(({ desired }) => desired);
    if (known.some((pod) => pod.source === source && podName(pod.pod) === name)) return true;
    const uids = new Set(known.map(({ uid }) => uid));
    return cache
      .all()
      .values()
      .some((pod) => pod.source === source && nameOf(pod) === name && !uids.has(pod.uid));
  }

  /** Whether all pods of the runtime have been observed; until then, nothing of a pod means nothing. */
  get areAllKnown(): boolean {
    return this.#options.pods.cache.isComplete;
  }

  /** Whether the runtime has anything of this UID. */
  isKnown(uid: PodUID): boolean {
    return this.#options.pods.cache.get(uid) !== undefined;
  }

  /** Whether the pod is being removed. */
  isLeaving(uid: PodUID): boolean {
    return this.#options.pods.workers.leaving().some((removal) => removal.uid === uid);
  }

  /** Whether a container of this UID runs. */
  isRunning(uid: PodUID): boolean {
    const { cache } = this.#options.pods;
    return cache.get(uid)?.containers.some(({ state }) => state === "Running") === true;
  }

  /** Container name → the runtime's name of the image that it runs. */
  imagesOf(uid: PodUID): Readonly<Record<string, string>> {
    // The newest of a name stands first.
    const containers = (this.#options.pods.cache.get(uid)?.containers ?? []).toReversed();
    return Object.fromEntries(containers.map(({ name, imageID }) => [name, imageID] as const));
  }

  #freshnessOf(desired: DesiredPod): ConfigFreshness {
    const { written, pods, secrets } = this.#options;
    const observed = pods.cache.get(desired.uid);
    const digest = (text: string): string => secrets.configDigest(text);
    return configFreshness(desired, { objects: written.objectsFor(desired), digest, observed });
  }

  #provenHealth(uid: PodUID, freshness: ConfigFreshness): PodHealth | undefined {
    const health = this.#health.get(uid);
    if (health === undefined) return undefined;
    return { ...health, readySince: this.#provenSince(health, freshness) };
  }

  /** Since when it is ready with what it would read by now: what ran before proves nothing about that. */
  #provenSince({ uid, readySince }: PodHealth, freshness: ConfigFreshness): Monotonic | undefined {
    const before = this.#read.get(uid);
    if (freshness.type !== "Read" || readySince === undefined) {
      this.#read.delete(uid);
      return undefined;
    }
    const { content } = freshness;
    const isKnown = before?.content === content;
    const since = isKnown ? before.since : this.#options.clock.monotonic();
    this.#read.set(uid, { content, since });
    return Math.max(readySince, content === "" ? 0 : since);
  }
}
