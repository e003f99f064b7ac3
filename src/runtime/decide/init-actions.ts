// Decides which init container runs next and keeps sidecars running. kubelet: computeInitContainerActions

import type {
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
} from "../../api/pod/observed-pod.ts";
import { isSidecar, type Pod } from "../../api/v1/pod.ts";
import type { ActionContext, PodAction } from "./pod-action.ts";
import { containerActions, startAnew, whyReplace } from "./container-actions.ts";
import { shouldRestart } from "./container-restart.ts";
import type { Container } from "../../api/v1/container.ts";

export interface InitFacts {
  readonly observed: ObservedPod;
  /** The one in which the containers run: what happened in an earlier one does not count. */
  readonly sandbox: ObservedSandbox;
  readonly context: ActionContext;
}

export interface InitDecision {
  /** The app containers' turn has come. */
  readonly isInitialized: boolean;
  readonly actions: readonly PodAction[];
}

/**
 * The last init container that this sandbox has seen tells how far the pod is: the records of those before it may be
 * gone. An app container in the sandbox tells that all of them are done.
 */
export function initActions(pod: Pod, facts: InitFacts): InitDecision {
  const { initContainers, containers } = pod.spec;
  const isHere = (container: Container): boolean => instanceHere(container, facts) !== undefined;
  if (containers.some(isHere))
    return { isInitialized: true, actions: keepSidecars(pod, initContainers, facts) };
  const reached = initContainers.findLastIndex(isHere);
  const current = initContainers[reached];
  const kept = keepSidecars(pod, initContainers.slice(0, reached + 1), facts);
  if (current !== undefined && !hasStarted(pod, current, facts)) {
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
  facts: InitFacts,
): readonly PodAction[] {
  return among
    .filter((container) => isSidecar(pod.spec, container))
    .flatMap((container) => containerActions(pod, container, facts));
}

/** A plain init container that runs is never replaced: nothing waits for it but its end. */
function runToItsEnd(pod: Pod, container: Container, facts: InitFacts): readonly PodAction[] {
  if (instanceHere(container, facts)?.state === "Running") return [];
  return containerActions(pod, container, facts);
}

/** The next one may start: a plain init container has ended well, a sidecar runs as it should and has started. */
function hasStarted(pod: Pod, container: Container, facts: InitFacts): boolean {
  const instance = instanceHere(container, facts);
  const { restarts, probes } = facts.context;
  if (!isSidecar(pod.spec, container)) {
    if (instance?.state !== "Exited" || instance.exitCode !== 0) return false;
    // One that was killed may say 0 as well.
    const memory = restarts[container.name];
    return !shouldRestart(pod.spec, { container, exited: instance, memory });
  }
  if (instance?.state !== "Running") return false;
  if (whyReplace(container, instance, facts.context) !== undefined) return false;
  return container.startupProbe === undefined || probes[instance.id]?.startup === "Success";
}

function instanceHere(
  container: Container,
  { observed, sandbox }: InitFacts,
): ObservedContainer | undefined {
  return observed.containers.find(
    ({ name, sandboxId }) => name === container.name && sandboxId === sandbox.id,
  );
}
