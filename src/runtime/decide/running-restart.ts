// Decides which running container starts anew because a ConfigMap or Secret that it read has changed (POD-API §7.9).

import { newestContainer } from "../../api/pod/newest-observed.ts";
import type {
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
} from "../../api/pod/observed-pod.ts";
import { restartsOnConfigChange } from "../../api/pod/pod-annotations.ts";
import { allContainers, isSidecar, type Pod } from "../../api/v1/pod.ts";
import { restartPolicyOf } from "../../api/pod/restart-policy.ts";
import { killOf, startAction, whyReplace } from "./container-actions.ts";
import { shouldRestart } from "./container-restart.ts";
import type { ActionContext, PodAction } from "./pod-action.ts";
import type { Container } from "../../api/v1/container.ts";

export interface ConfigFacts {
  readonly observed: ObservedPod;
  readonly sandbox: ObservedSandbox;
  readonly context: ActionContext;
}

/**
 * At most one container, in the order of the spec. While the last one has not come back, only that one: what it read
 * may have been a mistake that keeps it from ever getting ready.
 */
export function configActions(
  pod: Pod,
  { observed, sandbox, context }: ConfigFacts,
): readonly PodAction[] {
  if (!restartsOnConfigChange(pod)) return [];
  const waits = isComingBack(pod, observed, context);
  for (const container of readers(pod)) {
    if (waits && container.name !== context.configRestarting) continue;
    const newest = newestContainer(observed, container.name);
    if (newest?.state !== "Running" || newest.sandboxId !== sandbox.id) continue;
    if (!hasChanged(newest.configDigest, context.configDigests[container.name])) continue;
    // It is ended already; whatever takes its place reads anew.
    if (whyReplace(container, newest, context) !== undefined) continue;
    return [killOf(newest, "ConfigChanged"), startAction(container, observed)];
  }
  return [];
}

/** The container that was ended for this last does not yet run as it should, and will. */
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
  if (newest.state !== "Running" || whyReplace(container, newest, context) !== undefined)
    return false;
  const said = context.probes[newest.id];
  const { startupProbe, readinessProbe } = container;
  if (startupProbe !== undefined && said?.startup !== "Success") return false;
  return readinessProbe === undefined || said?.readiness === "Success";
}

/** Those that run on and on; what an init container read has had its effect. */
export function readers({ spec }: Pod): readonly Container[] {
  return allContainers(spec).filter((container) => {
    const isInit = spec.initContainers.includes(container) && !isSidecar(spec, container);
    return !isInit && restartPolicyOf(spec, container) !== "Never";
  });
}

/** Digests of another key or version say nothing: they restart nothing. */
export function hasChanged(written: string | undefined, current: string | undefined): boolean {
  if (written === undefined || current === undefined || written === current) return false;
  const maker = makerOf(written);
  return maker !== undefined && maker === makerOf(current);
}

/** `v1:<key>:` */
function makerOf(digest: string): string | undefined {
  return /^v1:[^:]+:/.exec(digest)?.[0];
}

/** One after the other, in the order of the spec: each is started before the next one ends. */
export function orderedActions(
  pod: Pod,
  { observed, sandbox, context }: ConfigFacts,
): readonly PodAction[] {
  const { ordered } = context;
  if (ordered === undefined || ordered.size === 0) return [];
  return restartable(pod).flatMap((container): readonly PodAction[] => {
    const newest = newestContainer(observed, container.name);
    if (newest?.state !== "Running" || newest.sandboxId !== sandbox.id) return [];
    if (!ordered.has(newest.id)) return [];
    // It is ended already; whatever takes its place is what was asked for.
    if (whyReplace(container, newest, context) !== undefined) return [];
    return [killOf(newest, "RestartOrdered"), startAction(container, observed)];
  });
}

/** Those that run on and on: an init container has its end to come to. */
export function restartable({ spec }: Pod): Pod["spec"]["containers"] {
  return allContainers(spec).filter(
    (container) => !spec.initContainers.includes(container) || isSidecar(spec, container),
  );
}
