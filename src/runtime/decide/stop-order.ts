// Decides the order in which containers stop, and how much of the grace period is left.
// kubelet: terminationOrdering, killContainer

import type { ContainerRole, ObservedContainer } from "../../api/pod/observed-pod.ts";
import { findContainer, type Pod } from "../../api/v1/pod.ts";
import type { Monotonic } from "../../lib/clock.ts";
import { roleInSpec } from "../cri-config/stop-annotations.ts";
import type { ContainerPort } from "../../api/v1/container-ports.ts";
import { type LifecycleHandler } from "../../api/v1/lifecycle.ts";

/** One container's place in the order. */
export interface StopTurn {
  readonly container: ObservedContainer;
  /** Ids of the containers that must have stopped before it is stopped. */
  readonly waitsFor: readonly string[];
}

/** What stopping a container takes, from its spec or, without one, from its own annotations. */
export interface StopFacts {
  readonly role: ContainerRole;
  readonly preStop: LifecycleHandler | undefined;
  readonly ports: readonly ContainerPort[];
}

/** The grace period of one container, counted from the request to stop. */
export interface Budget {
  /** The whole of it. */
  readonly seconds: number;
  readonly endsAt: Monotonic;
}

/** Left even after a long preStop hook: otherwise SIGKILL would follow the stop signal at once. */
const LEAST_STOP_SECONDS = 2;
/** The last two seconds of the containers before it, and one until the runtime reports that they are gone. */
const LATE_TURN_MS = 3000;

export function stopFacts(container: ObservedContainer, pod: Pod | undefined): StopFacts {
  const spec = pod && findContainer(pod.spec, container.name);
  if (pod === undefined || spec === undefined) {
    const { role = { type: "App" }, preStop, ports = [] } = container;
    return { role, preStop, ports };
  }
  const role = roleInSpec(pod.spec, container.name) ?? { type: "App" };
  return { role, preStop: spec.lifecycle.preStop, ports: spec.ports };
}

/**
 * Each container comes after those it waits for. App and plain init containers wait for none, a sidecar waits for all of
 * them and for every sidecar that was started after it.
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

/** Higher ranks stop first. */
function rankOf(container: ObservedContainer, pod: Pod | undefined): number {
  const { role } = stopFacts(container, pod);
  return role.type === "Sidecar" ? role.position : Number.POSITIVE_INFINITY;
}

export function budgetOf(seconds: number, now: Monotonic): Budget {
  return { seconds, endsAt: now + seconds * 1000 };
}

/** At most `seconds` from `now`, and never more than before. */
export function shortenedBudget(budget: Budget, seconds: number, now: Monotonic): Budget {
  return {
    seconds: Math.min(budget.seconds, seconds),
    endsAt: Math.min(budget.endsAt, now + seconds * 1000),
  };
}

/** When a container is stopped although containers that should stop before it still run. */
export function turnEndsAt({ seconds, endsAt }: Budget): Monotonic {
  return seconds === 0 ? endsAt : endsAt + LATE_TURN_MS;
}

/** The timeout of StopContainer: what is left, rounded up, but at least two seconds unless the whole was shorter. */
export function stopSeconds({ seconds, endsAt }: Budget, now: Monotonic): number {
  const left = Math.ceil((endsAt - now) / 1000);
  return Math.max(left, Math.min(seconds, LEAST_STOP_SECONDS));
}
