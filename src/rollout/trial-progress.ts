// Performs: how the pods of documents do by now: what their trials are judged by.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import type { LocalObjects } from "../api/v1/local-object.ts";
import type { PodUID } from "../api/v1/pod.ts";
import { isMeantToFinish } from "../api/pod/restart-policy.ts";
import type { Monotonic } from "../lib/clock.ts";
import type { TrialHealth } from "./trial.ts";
import type { PodProgress } from "./trial-facts.ts";
import { podHealth, type PodHealth } from "./pod-health.ts";
import type { Edges } from "../edges.ts";
import type { ImageLedger } from "../image/image-ledger.ts";
import { newsOf, type News } from "./config-freshness.ts";
import { trialHealth } from "./trial-health.ts";
import type { Pods } from "../podworkers/pods.ts";

export interface TrialProgressOptions {
  readonly edges: Pick<Edges, "clock">;
  readonly pods: () => Pick<Pods, "cache" | "statuses" | "workers">;
  readonly images: Pick<ImageLedger, "fatal" | "registryAnswers">;
  /** What pods find by the newest word of the sources. */
  readonly view: { objectsFor(desired: DesiredPod): LocalObjects };
  /** Keyed: it stands on containers that are there for all to see. */
  readonly configDigest: (text: string) => string;
  /** A text of a pod's own as it may leave the node. */
  readonly hush: (text: string) => string;
}

export class TrialProgress {
  readonly #options: TrialProgressOptions;
  #health: ReadonlyMap<PodUID, PodHealth> = new Map();
  /** What each pod was ready with, and since when. */
  readonly #read = new Map<PodUID, { readonly content: string; readonly since: Monotonic }>();

  constructor(options: TrialProgressOptions) {
    this.#options = options;
  }

  /** Looks at these pods: how long they have been ready counts from look to look. */
  look(judged: readonly DesiredPod[]): void {
    const { pods, edges } = this.#options;
    const { workers, statuses } = pods();
    const leaving = new Set(
      workers
        .all()
        .flatMap(({ desired, deletedAt }) => (deletedAt === undefined ? [] : desired.uid)),
    );
    const now = edges.clock.monotonic();
    const there = judged.filter(({ uid }) => workers.has(uid));
    const uids = new Set(there.map(({ uid }) => uid));
    for (const uid of this.#read.keys()) if (!uids.has(uid)) this.#read.delete(uid);
    this.#health = new Map(
      there.map((desired) => {
        const { uid } = desired;
        const terminating = leaving.has(uid);
        const pulling = workers.isPulling(uid);
        const facts = { status: statuses.status(uid), now, terminating, pulling };
        return [uid, podHealth(desired, facts, this.#health.get(uid))];
      }),
    );
  }

  /** At the last look. */
  of(desired: DesiredPod): PodProgress {
    const { images } = this.#options;
    const { uid, pod } = desired;
    const fatal = images.fatal(uid);
    const news = this.#newsOf(desired);
    return {
      health: this.#trialHealth(desired, news),
      isMeantToFinish: isMeantToFinish(pod.spec),
      registryAnswers: images.registryAnswers(uid),
      orderedRestarts: news.reads ? 1 : 0,
      misses: news.type === "Unusable",
      ...(fatal === undefined ? {} : { fatal: fatal.why, fatalAt: fatal.at }),
    };
  }

  /** Nobody has what it would read if it started now. */
  misses(desired: DesiredPod): boolean {
    return this.#newsOf(desired).type === "Unusable";
  }

  #newsOf(desired: DesiredPod): News {
    const { view, pods, configDigest: digest } = this.#options;
    const observed = pods().cache.get(desired.uid);
    return newsOf(desired, { objects: view.objectsFor(desired), digest, observed });
  }

  #trialHealth(desired: DesiredPod, news: News): TrialHealth | undefined {
    const { pods, hush } = this.#options;
    const known = this.#health.get(desired.uid);
    if (known === undefined) return undefined;
    const status = pods().statuses.status(desired.uid);
    const readySince = this.#provenSince(known, news);
    const health = trialHealth(desired, { ...known, readySince }, status);
    return health.message === undefined ? health : { ...health, message: hush(health.message) };
  }

  /** Since when it is ready with what it would read by now: what ran before proves nothing of that. */
  #provenSince({ uid, readySince }: PodHealth, news: News): Monotonic | undefined {
    const before = this.#read.get(uid);
    if (news.type !== "Read" || readySince === undefined) {
      this.#read.delete(uid);
      return undefined;
    }
    const isKnown = before?.content === news.content;
    const since = isKnown ? before.since : this.#options.edges.clock.monotonic();
    this.#read.set(uid, { content: news.content, since });
    return Math.max(readySince, news.content === "" ? 0 : since);
  }
}
