// How the pods of documents do by now: what their trials are judged by.

import type { DesiredPod } from "../api/desired-pod.ts";
import { findObject, type LocalObjects } from "../api/local-object.ts";
import { referencesOf } from "../api/object-references.ts";
import { allContainers, type PodUID } from "../api/pod.ts";
import { isMeantToFinish } from "../api/restart-policy.ts";
import { configText } from "../runtime/config-digests.ts";
import type { TrialHealth } from "../source/rollout-trial.ts";
import type { PodProgress } from "../source/trial-facts.ts";
import { podHealth, type PodHealth } from "../upstream/pod-health.ts";
import type { Edges } from "./edges.ts";
import type { ImageLedger } from "./image-ledger.ts";
import type { Pods } from "./pods.ts";
import { trialHealth } from "./trial-health.ts";

export interface TrialProgressOptions {
  readonly edges: Pick<Edges, "clock">;
  readonly pods: () => Pick<Pods, "cache" | "statuses" | "workers">;
  readonly images: Pick<ImageLedger, "fatal" | "registryAnswers">;
  /** What pods find by the newest word of the sources. */
  readonly view: { objectsFor(desired: DesiredPod): LocalObjects };
  /** A text of a pod's own as it may leave the node. */
  readonly hush: (text: string) => string;
}

export class TrialProgress {
  readonly #options: TrialProgressOptions;
  #health: ReadonlyMap<PodUID, PodHealth> = new Map();

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
    const { images, view } = this.#options;
    const { uid, pod } = desired;
    const fatal = images.fatal(uid);
    const reads = allContainers(pod.spec).some(
      (container) => configText(pod, container, view.objectsFor(desired)) !== undefined,
    );
    return {
      health: this.#trialHealth(desired),
      isMeantToFinish: isMeantToFinish(pod.spec),
      registryAnswers: images.registryAnswers(uid),
      orderedRestarts: reads ? 1 : 0,
      ...(fatal === undefined ? {} : { fatal }),
    };
  }

  #misses(desired: DesiredPod): boolean {
    const objects = this.#options.view.objectsFor(desired);
    return referencesOf(desired.pod).some(
      ({ kind, namespace, name, optional }) =>
        !optional && findObject(objects, { kind, namespace, name }) === undefined,
    );
  }

  #trialHealth(desired: DesiredPod): TrialHealth | undefined {
    const { pods, hush } = this.#options;
    const known = this.#health.get(desired.uid);
    if (known === undefined) return undefined;
    const status = pods().statuses.status(desired.uid);
    // What could not start again has proved nothing, however well it runs.
    const whole = { ...known, readySince: this.#misses(desired) ? undefined : known.readySince };
    const health = trialHealth(desired, whole, status);
    return health.message === undefined ? health : { ...health, message: hush(health.message) };
  }
}
