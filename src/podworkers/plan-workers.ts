// Decides which pods get a worker, a newer spec or a removal. kubelet: HandlePodAdditions … HandlePodCleanups

import type { DesiredPod, DesiredState, SourceName, Removal } from "../api/pod/desired-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import { outranks } from "../source/precedence.ts";

/** One life of a pod, with or without a spec. */
export type PodIdentity = Pick<Removal, "uid" | "namespace" | "name">;

/** What brings the workers in line with the desired state. */
interface WorkerPlan {
  readonly removals: readonly Removal[];
  readonly starts: readonly DesiredPod[];
  /** Pods whose worker gets a newer version of the same UID. */
  readonly updates: readonly DesiredPod[];
}

/** A pod that has a worker. */
export interface WorkerFacts extends PodIdentity {
  readonly desired: DesiredPod | undefined;
  /** undefined = it is not being removed. */
  readonly removal: Removal | undefined;
  /** Something was done to the pod since the runtime was asked about it; absent = nothing was. */
  readonly isUnsure?: boolean;
}

export interface PlanInput {
  readonly desired: DesiredState;
  readonly workers: readonly WorkerFacts[];
  /** Pods of this agent in the runtime. */
  readonly observed: readonly ObservedPod[];
  /** Removals that are not finished, begun by this process or an earlier one. */
  readonly removals: readonly Removal[];
}

/** Idempotent: what was done is not planned again. A predecessor is removed by its successor's worker, not here. */
export function planWorkers(input: PlanInput): WorkerPlan {
  const { desired, workers, observed, removals } = input;
  const working = new Map(workers.map((worker) => [worker.uid, worker]));
  const unsettled = new Set(removals.map(({ uid }) => uid));
  const wanted = new Set(desired.pods.map(({ uid }) => uid));
  const names = new Set(desired.pods.map(({ pod }) => nameOf(pod.metadata)));

  const sources = new Map(observed.map(({ uid, source }) => [uid, source]));
  // The runtime may have more of it than was observed: the calls that start a pod take a while.
  const unsure = new Set(workers.filter(({ isUnsure }) => isUnsure === true).map(({ uid }) => uid));
  const hasBegun = (uid: PodUID): boolean => sources.has(uid) || unsure.has(uid);

  /**
   * Only its own source can orphan a pod, once it has synced; a name that is desired has a successor. Under a held name what
   * runs goes on, and what has not begun does not begin.
   */
  const isOrphan = (pod: PodIdentity, source: SourceName | undefined): boolean =>
    !wanted.has(pod.uid) &&
    !names.has(nameOf(pod)) &&
    !(desired.held.has(nameOf(pod)) && hasBegun(pod.uid)) &&
    source !== undefined &&
    desired.ready.has(source);

  const settle = removals.filter(({ uid }) => !working.has(uid));
  // A pod that still stops becomes deleted when its name is removed too: its logs are not kept.
  const drop = workers
    .filter(({ removal }) => removal?.why !== "Deleted")
    .filter((worker) => isOrphan(worker, worker.desired?.source ?? sources.get(worker.uid)))
    .map(deleted);
  const orphans = observed
    .filter((pod) => !working.has(pod.uid) && !unsettled.has(pod.uid))
    .filter((pod) => isOrphan(pod, pod.source))
    .map(deleted);
  const staying = new Set(workers.flatMap(({ uid, removal }) => (removal ? [] : uid)));
  const updates = desired.pods.filter(({ uid }) => staying.has(uid));
  // A UID that is being removed starts again with the plan after its end.
  const starts = desired.pods.filter(({ uid }) => !working.has(uid) && !unsettled.has(uid));
  return { removals: [...settle, ...drop, ...orphans], starts, updates };
}

/** Whether a pod of source `ended` may be stopped for one of `successor`: not before `ended` has synced. */
export function mayReplace(
  ended: SourceName | undefined,
  successor: SourceName,
  ready: ReadonlySet<SourceName>,
): boolean {
  return ended === undefined || ready.has(ended) || !outranks(ended, successor);
}

export function removalOf({ uid, namespace, name }: PodIdentity, why: Removal["why"]): Removal {
  return { uid, namespace, name, why };
}

function deleted(pod: PodIdentity): Removal {
  return removalOf(pod, "Deleted");
}

/** `namespace/name`, under which only one pod may run at a time. */
export function nameOf(pod: { readonly namespace: string; readonly name: string }): string {
  return `${pod.namespace}/${pod.name}`;
}
