// Decides which init container runs next and keeps sidecars running. kubelet: computeInitContainerActions

import type { ObservedContainer } from "../../api/pod/observed-pod.ts";
import { isSidecar, type Pod } from "../../api/v1/pod.ts";
import type { PodAction, InSandbox } from "./pod-action.ts";
import { containerActions, hasStarted, startAnew } from "./container-actions.ts";
import { shouldRestart } from "./crash-loop-backoff.ts";
import type { Container } from "../../api/v1/container.ts";

export interface InitDecision {
  /** The app containers may start. */
  readonly isInitialized: boolean;
  readonly actions: readonly PodAction[];
}

/**
 * The last init container with an instance in this sandbox shows how far the pod is: the records of those before it may
 * be gone. An app container in the sandbox proves that all of them are done.
 */
export function initActions(pod: Pod, facts: InSandbox): InitDecision {
  const { initContainers, containers } = pod.spec;
  const isHere = (container: Container): boolean => instanceHere(container, facts) !== undefined;
  if (containers.some(isHere))
    return { isInitialized: true, actions: keepSidecars(pod, initContainers, facts) };
  const reached = initContainers.findLastIndex(isHere);
  const current = initContainers[reached];
  const kept = keepSidecars(pod, initContainers.slice(0, reached + 1), facts);
  if (current !== undefined && !isDone(pod, current, facts)) {
    const own = isSidecar(pod.spec, current) ? [] : runToItsEnd(pod, current, facts);
    return { isInitialized: false, actions: [...kept, ...own] };
  }
  const next = initContainers[reached + 1];
  if (next === undefined) return { isInitialized: true, actions: kept };
  return { isInitialized: false, actions: [...kept, ...startAnew(next, facts.observed)] };
}

function keepSidecars(
  pod: Pod,
  among: readonly Container[],
  facts: InSandbox,
): readonly PodAction[] {
  return among
    .filter((container) => isSidecar(pod.spec, container))
    .flatMap((container) => containerActions(pod, container, facts));
}

/** A plain init container that runs is never replaced: only its end matters. */
function runToItsEnd(pod: Pod, container: Container, facts: InSandbox): readonly PodAction[] {
  if (instanceHere(container, facts)?.state === "Running") return [];
  return containerActions(pod, container, facts);
}

/** The next one may start: a plain init container has ended well, a sidecar runs as it should and has started. */
function isDone(pod: Pod, container: Container, facts: InSandbox): boolean {
  const instance = instanceHere(container, facts);
  if (!isSidecar(pod.spec, container)) {
    if (instance?.state !== "Exited" || instance.exitCode !== 0) return false;
    // A killed instance may exit with 0 too.
    const memory = facts.context.restarts[container.name];
    return !shouldRestart(pod.spec, { container, exited: instance, memory });
  }
  return instance !== undefined && hasStarted(container, instance, facts.context);
}

function instanceHere(
  container: Container,
  { observed, sandbox, podRestarts }: InSandbox,
): ObservedContainer | undefined {
  return observed.containers.find(
    (one) =>
      one.name === container.name &&
      one.sandboxId === sandbox.id &&
      (one.podRestarts ?? 0) >= podRestarts,
  );
}
