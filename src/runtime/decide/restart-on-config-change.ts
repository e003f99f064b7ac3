// Decides which healthy running containers are restarted: on request, or because a ConfigMap or Secret that they read has
// changed.

import {
  type ObservedContainer,
  type ObservedPod,
  newestContainer,
} from "../../api/pod/observed-pod.ts";
import { restartsOnConfigChange } from "../../api/pod/pod-annotations.ts";
import { allContainers, isSidecar, type Pod } from "../../api/v1/pod.ts";
import { restartPolicyOf } from "../../api/pod/restart-policy.ts";
import { hasStarted, killOf, startAction, whyReplace } from "./container-actions.ts";
import { shouldRestart } from "./crash-loop-backoff.ts";
import type { ActionContext, PodAction, InSandbox } from "./pod-action.ts";
import type { Container } from "../../api/v1/container.ts";

/**
 * At most one container, in the order of the spec. While the one restarted last is not ready again, only that one: the
 * new content may be a mistake that keeps containers from getting ready.
 */
export function configActions(pod: Pod, at: InSandbox): readonly PodAction[] {
  const { observed, context } = at;
  if (!restartsOnConfigChange(pod)) return [];
  const waits = isComingBack(pod, observed, context);
  for (const container of readers(pod)) {
    if (waits && container.name !== context.configRestarting) continue;
    const running = keptInstance(container, at);
    if (running === undefined) continue;
    if (!hasChanged(running.configDigest, context.configDigests[container.name])) continue;
    return [killOf(running, "ConfigChanged"), startAction(container, observed)];
  }
  return [];
}

/** The container restarted last because of a changed ConfigMap or Secret is not ready again, and may still get ready. */
export function isComingBack(
  pod: Pod,
  observed: ObservedPod | undefined,
  context: ActionContext,
): boolean {
  const container = readers(pod).find(({ name }) => name === context.configRestarting);
  if (container === undefined) return false;
  const newest = newestContainer(observed, container.name);
  if (newest === undefined) return true;
  const memory = context.restarts[container.name];
  if (newest.state === "Exited")
    return shouldRestart(pod.spec, { container, exited: newest, memory });
  return !runsWell(container, newest, context);
}

function runsWell(
  container: Container,
  newest: ObservedContainer,
  context: ActionContext,
): boolean {
  if (!hasStarted(container, newest, context)) return false;
  const isReady = context.probes[newest.id]?.readiness === "Success";
  return container.readinessProbe === undefined || isReady;
}

/** The containers that restart when what they read has changed. */
export function readers(pod: Pod): readonly Container[] {
  return restartable(pod).filter((container) => restartPolicyOf(pod.spec, container) !== "Never");
}

/** Digests of another key or version are not comparable, and restart nothing. */
export function hasChanged(written: string | undefined, current: string | undefined): boolean {
  if (written === undefined || current === undefined || written === current) return false;
  const maker = makerOf(written);
  return maker !== undefined && maker === makerOf(current);
}

/** `v1:<key>:` */
function makerOf(digest: string): string | undefined {
  return /^v1:[^:]+:/.exec(digest)?.[0];
}

/** In the order of the spec: each container is started before the next one is stopped. */
export function requestedActions(pod: Pod, at: InSandbox): readonly PodAction[] {
  const { ordered } = at.context;
  if (ordered === undefined || ordered.size === 0) return [];
  return restartable(pod).flatMap((container): readonly PodAction[] => {
    const running = keptInstance(container, at);
    if (running === undefined || !ordered.has(running.id)) return [];
    return [killOf(running, "RestartOrdered"), startAction(container, at.observed)];
  });
}

/** The running instance, unless it is being replaced already, which has the same effect as a restart. */
function keptInstance(
  container: Container,
  { observed, sandbox, context }: InSandbox,
): ObservedContainer | undefined {
  const newest = newestContainer(observed, container.name);
  if (newest?.state !== "Running" || newest.sandboxId !== sandbox.id) return undefined;
  return whyReplace(container, newest, context) === undefined ? newest : undefined;
}

/** App containers and sidecars: an init container runs to its end. */
export function restartable({ spec }: Pod): Pod["spec"]["containers"] {
  return allContainers(spec).filter(
    (container) => !spec.initContainers.includes(container) || isSidecar(spec, container),
  );
}
