// Decides which pods get a worker, a newer spec or a removal. kubelet: HandlePodAdditions … HandlePodCleanups

import type { DesiredPod, DesiredState, SourceName, Removal } from "../api/pod/desired-pod.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { outranks } from "../source/precedence.ts";

/** One life of a pod, with or without a spec. */
export type PodIdentity = Pick<Removal, "uid" | "namespace" | "name">;

export type WorkerOrder =
  | { readonly type: "Start"; readonly desired: DesiredPod }
  | { readonly type: "Update"; readonly desired: DesiredPod }
  | { readonly type: "Remove"; readonly removal: Removal };

/** A pod that has a worker. */
export interface WorkerFacts extends PodIdentity {
  readonly phase: "Syncing" | "Terminating";
  /** Set if it is being removed. */
  readonly why?: Removal["why"] | undefined;
  readonly source: SourceName | undefined;
}

export interface PlanInput {
  readonly desired: DesiredState;
  readonly workers: readonly WorkerFacts[];
  /** Pods of this agent in the runtime. */
  readonly observed: readonly ObservedPod[];
  /** Removals that are not finished, begun by this process or an earlier one. */
  readonly removals: readonly Removal[];
}

/** Idempotent: performed orders are not repeated. A predecessor is removed by its successor's worker, not here. */
export function planWorkers(input: PlanInput): readonly WorkerOrder[] {
  const { desired, workers, observed, removals } = input;
  const working = new Map(workers.map((worker) => [worker.uid, worker]));
  const unsettled = new Set(removals.map(({ uid }) => uid));
  const wanted = new Set(desired.pods.map(({ uid }) => uid));
  const names = new Set(desired.pods.map(({ pod }) => nameOf(pod.metadata)));

  /** Only its own source can orphan a pod, once it has synced; a name that is desired has a successor. */
  const isOrphan = (pod: PodIdentity, source: SourceName | undefined): boolean =>
    !wanted.has(pod.uid) &&
    !names.has(nameOf(pod)) &&
    !desired.held.has(nameOf(pod)) &&
    source !== undefined &&
    desired.ready.has(source);

  const settle = removals.filter(({ uid }) => !working.has(uid)).map(remove);
  const sources = new Map(observed.map(({ uid, source }) => [uid, source]));
  // A replaced pod that still stops becomes deleted when its name is removed too: its logs are not kept.
  const drop = workers
    .filter(({ phase, why }) => phase === "Syncing" || why === "Replaced")
    .filter((worker) => isOrphan(worker, worker.source ?? sources.get(worker.uid)))
    .map(deleted);
  const orphans = observed
    .filter((pod) => !working.has(pod.uid) && !unsettled.has(pod.uid))
    .filter((pod) => isOrphan(pod, pod.source))
    .map(deleted);
  const run = desired.pods
    .map((pod) => orderFor(pod, working.get(pod.uid), unsettled.has(pod.uid)))
    .filter((order) => order !== undefined);
  return [...settle, ...drop, ...orphans, ...run];
}

/** Whether a pod of source `ended` may be stopped for one of `successor`: not before `ended` has synced. */
export function mayReplace(
  ended: SourceName | undefined,
  successor: SourceName,
  ready: ReadonlySet<SourceName>,
): boolean {
  return ended === undefined || ready.has(ended) || !outranks(ended, successor);
}

function orderFor(
  desired: DesiredPod,
  worker: WorkerFacts | undefined,
  isBeingRemoved: boolean,
): WorkerOrder | undefined {
  if (worker?.phase === "Syncing") return { type: "Update", desired };
  // The UID is being removed: the plan after that starts it again.
  return worker === undefined && !isBeingRemoved ? { type: "Start", desired } : undefined;
}

function deleted({ uid, namespace, name }: PodIdentity): WorkerOrder {
  return remove({ uid, namespace, name, why: "Deleted" });
}

function remove(removal: Removal): WorkerOrder {
  return { type: "Remove", removal };
}

/** `namespace/name`, under which only one pod may run at a time. */
export function nameOf(pod: { readonly namespace: string; readonly name: string }): string {
  return `${pod.namespace}/${pod.name}`;
}
