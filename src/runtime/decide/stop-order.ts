// Decides who stops after whom and how much of the grace period is left; performs nothing. kubelet: terminationOrdering, killContainer

import type { ContainerRole, ObservedContainer } from "../../api/pod/observed-pod.ts";
import type { LifecycleHandler } from "../../api/v1/probe.ts";
import { allContainers, type Pod } from "../../api/v1/pod.ts";
import type { Monotonic } from "../../lib/clock.ts";
import { roleInSpec } from "../cri-config/stop-annotations.ts";
import type { ContainerPort } from "../../api/v1/container-ports.ts";

/** One container's place in the order. */
export interface StopTurn {
  readonly container: ObservedContainer;
  /** Ids of those that must be gone before it is told to stop. */
  readonly waitsFor: readonly string[];
}

/** What stopping a container takes, from its spec or, if that is forgotten, from its own annotations. */
export interface StopFacts {
  readonly role: ContainerRole;
  readonly preStop: LifecycleHandler | undefined;
  readonly ports: readonly ContainerPort[];
}

/** The grace of one container, running since somebody asked it to stop. */
export interface Budget {
  /** The whole of it. */
  readonly seconds: number;
  readonly endsAt: Monotonic;
}

/** However long a hook took: without it the stop signal would be followed by SIGKILL at once. */
const LEAST_STOP_SECONDS = 2;
/** The last two seconds of those before it, and one for the runtime to say that they are gone. */
const LATE_TURN_MS = 3000;

export function stopFacts(container: ObservedContainer, pod: Pod | undefined): StopFacts {
  const spec =
    pod && allContainers(pod.spec).find((candidate) => candidate.name === container.name);
  if (pod === undefined || spec === undefined) {
    const { role = { type: "App" }, preStop, ports = [] } = container;
    return { role, preStop, ports };
  }
  const role = roleInSpec(pod.spec, container.name) ?? { type: "App" };
  return { role, preStop: spec.lifecycle.preStop, ports: spec.ports };
}

/**
 * Everybody after those he waits for. App and plain init containers wait for nobody, a sidecar for all of them
 * and for every sidecar that was started after it.
 */
export function stopTurns(
  containers: readonly ObservedContainer[],
  pod: Pod | undefined,
): readonly StopTurn[] {
  const ranked = containers.map((container) => ({ container, rank: rankOf(container, pod) }));
  const turns = ranked.map(({ container, rank }) => {
    const earlier = ranked.filter((other) => other.rank > rank);
    return { container, waitsFor: earlier.map((other) => other.container.id), rank };
  });
  return turns
    .toSorted((a, b) => b.rank - a.rank)
    .map(({ container, waitsFor }) => ({ container, waitsFor }));
}

/** The higher stops first. */
function rankOf(container: ObservedContainer, pod: Pod | undefined): number {
  const { role } = stopFacts(container, pod);
  return role.type === "Sidecar" ? role.position : Number.POSITIVE_INFINITY;
}

export function budgetOf(seconds: number, now: Monotonic): Budget {
  return { seconds, endsAt: now + seconds * 1000 };
}

/** From `now` on no more than `seconds`, and never more than before. */
export function shortenedBudget(budget: Budget, seconds: number, now: Monotonic): Budget {
  return {
    seconds: Math.min(budget.seconds, seconds),
    endsAt: Math.min(budget.endsAt, now + seconds * 1000),
  };
}

/** When a container is told to stop though others that should go before it are still there. */
export function turnEndsAt({ seconds, endsAt }: Budget): Monotonic {
  return seconds === 0 ? endsAt : endsAt + LATE_TURN_MS;
}

/** What StopContainer gets: the rest, rounded up, but at least two seconds unless the whole was shorter. */
export function stopSeconds({ seconds, endsAt }: Budget, now: Monotonic): number {
  const left = Math.ceil((endsAt - now) / 1000);
  return Math.max(left, Math.min(seconds, LEAST_STOP_SECONDS));
}
