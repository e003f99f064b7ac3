// Decides whether all containers of a pod are restarted together in its sandbox, because one of them exited and its rule
// asks for RestartAllContainers. kubelet: ShouldAllContainersRestart
//
// A container carries how often its pod had been restarted as a whole when it was made. The restart is asked for as long
// as the exited container is of the newest such run, and it has begun as soon as one container of the next run has
// started: another process of the agent comes to the same answer from the runtime alone.

import {
  isOfThisRun,
  newestContainer,
  newestStarted,
  podRestarts,
  type ObservedContainer,
  type ObservedPod,
} from "../../api/pod/observed-pod.ts";
import { mayRestartAll, restartActionOf } from "../../api/pod/restart-policy.ts";
import type { Container } from "../../api/v1/container.ts";
import { allContainers, type Pod } from "../../api/v1/pod.ts";
import { isFinished, isLive } from "../observe/newest.ts";
import { restartTime, type RestartMemory } from "./crash-loop-backoff.ts";
import { killOf } from "./container-actions.ts";
import type { ActionContext, PodAction } from "./pod-action.ts";

type Restarts = Readonly<Record<string, RestartMemory>>;

/** The run that the pod is to be in. */
export interface PodRun {
  /** How often all its containers were restarted together, with the restart that is asked for now. */
  readonly podRestarts: number;
  /** The containers whose exit asks for a restart of all; empty = none is asked for, or it has begun. */
  readonly sources: readonly ObservedContainer[];
  /** IDs of ended instances of an earlier run that start again for that reason alone. */
  readonly replaced: ReadonlySet<string>;
  /** The restarts of its containers; those that start again have not failed. */
  readonly restarts: Restarts;
}

export function podRun(pod: Pod, observed: ObservedPod | undefined, restarts: Restarts): PodRun {
  if (observed === undefined || !mayRestartAll(pod.spec))
    return { podRestarts: 0, sources: [], replaced: new Set(), restarts };
  const sources = sourcesOf(pod, observed, restarts);
  const wanted = podRestarts(observed) + (sources.length > 0 ? 1 : 0);
  const replaced = allContainers(pod.spec).flatMap((container) => {
    const newest = newestContainer(observed, container.name);
    if (newest?.state !== "Exited" || (newest.podRestarts ?? 0) >= wanted) return [];
    return asksForAll(pod, container, newest) && !wasKilled(newest, restarts) ? [] : [newest];
  });
  const known = replaced.map(({ id, name }) => {
    const killed = { id, always: true };
    return [name, { ...restarts[name], backoff: undefined, exit: undefined, killed }] as const;
  });
  return {
    podRestarts: wanted,
    sources,
    replaced: new Set(replaced.map(({ id }) => id)),
    restarts: { ...restarts, ...Object.fromEntries(known) },
  };
}

/** What comes before the first start of the next run; empty = the pod starts from its beginning, or no restart is asked for. */
export function restartAllActions(
  observed: ObservedPod | undefined,
  run: PodRun,
  { now, restarts }: ActionContext,
): readonly PodAction[] {
  const kills = (observed?.containers ?? [])
    .filter((container) => isLive(container) && (container.podRestarts ?? 0) < run.podRestarts)
    .map((container) => killOf(container, "RestartAllContainers"));
  if (kills.length > 0) return kills;
  return run.sources.flatMap(({ id, name }): readonly PodAction[] => {
    const until = restartTime(restarts[name], id);
    if (until <= now) return [];
    return [{ type: "Wait", container: name, until, reason: "CrashLoopBackOff" }];
  });
}

function sourcesOf(
  pod: Pod,
  observed: ObservedPod,
  restarts: Restarts,
): readonly ObservedContainer[] {
  // A finished pod has ended its sidecars: their exit asks for nothing.
  if (isFinished(pod, observed, restarts)) return [];
  return allContainers(pod.spec).flatMap((container) => {
    const ended = newestStarted(observed, container.name);
    if (ended?.state !== "Exited" || !isOfThisRun(observed, ended)) return [];
    return asksForAll(pod, container, ended) && !wasKilled(ended, restarts) ? [ended] : [];
  });
}

function asksForAll({ spec }: Pod, container: Container, { exitCode }: ObservedContainer): boolean {
  return restartActionOf(spec, container, exitCode) === "RestartAllContainers";
}

/** It was ended on purpose, to be replaced: its exit code asks for nothing. */
function wasKilled({ id, name }: ObservedContainer, restarts: Restarts): boolean {
  const killed = restarts[name]?.killed;
  return killed?.id === id && killed.always;
}
