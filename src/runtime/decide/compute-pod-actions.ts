// Decides what has to happen to one pod in the runtime; performs nothing. kubelet: computePodActions

import {
  type ObservedContainer,
  type ObservedPod,
  type ObservedSandbox,
  newestContainer,
} from "../../api/pod/observed-pod.ts";
import { allContainers, isSidecar, type Pod } from "../../api/v1/pod.ts";
import { restartsAfterKill } from "../../api/pod/restart-policy.ts";
import { containerActions, killOf, removalOf, startAction } from "./container-actions.ts";
import { configActions, requestedActions } from "./restart-on-config-change.ts";
import { initActions } from "./init-actions.ts";
import { podRun, restartAllActions } from "./restart-all-containers.ts";
import { isFinished, isLive, usableSandbox } from "../observe/newest.ts";
import type { ActionContext, KillReason, PodAction, InSandbox } from "./pod-action.ts";

/**
 * The steps, in order, that bring the runtime to the pod's spec; empty when nothing has to be done.
 * "Newest" is always the highest attempt, never a creation time.
 */
export function computePodActions(
  pod: Pod,
  observed: ObservedPod | undefined,
  context: ActionContext,
): readonly PodAction[] {
  if (context.failed !== undefined) return killPod(observed, context.failed);
  const run = podRun(pod, observed, context.restarts);
  const before = restartAllActions(observed, run, context);
  if (before.length > 0) return before;
  const sandbox = usableSandbox(pod, observed);
  const ofRun = { ...context, restarts: run.restarts };
  return sandbox === undefined || observed === undefined
    ? withoutSandbox(pod, observed, ofRun)
    : inSandbox(pod, { observed, sandbox, context: ofRun, podRestarts: run.podRestarts });
}

function withoutSandbox(
  pod: Pod,
  observed: ObservedPod | undefined,
  context: ActionContext,
): readonly PodAction[] {
  if (isFinished(pod, observed, context.restarts)) return killPod(observed, "Finished");
  const kills = killPod(observed, "SandboxChanged");
  if (neverAgain(pod, observed, context.restarts)) return kills;
  const apps = appsOf(pod, observed, context);
  // What ran may run only once, and the rest has ended for good: a new sandbox would stay empty.
  if (apps.length === 0) return kills;
  const [firstInit] = pod.spec.initContainers;
  const starts = firstInit === undefined ? apps : [startAction(firstInit, observed)];
  const attempt = (observed?.sandboxes[0]?.attempt ?? -1) + 1;
  return [...kills, { type: "CreateSandbox", attempt }, ...starts];
}

/**
 * A pod whose containers may run only once does not get a second sandbox after they did.
 * kubelet: "Should not restart the pod", attempt ≠ 0 with container statuses
 */
export function neverAgain(
  pod: Pod,
  observed: ObservedPod | undefined,
  restarts: ActionContext["restarts"],
): boolean {
  if (observed === undefined || observed.sandboxes.length === 0) return false;
  // All of them were about to start again.
  if (podRun(pod, observed, restarts).sources.length > 0) return false;
  if (usableSandbox(pod, observed) !== undefined) return false;
  const mayRunAgain = allContainers(pod.spec).some(
    (container) => !isSidecar(pod.spec, container) && restartsAfterKill(pod.spec, container),
  );
  return !mayRunAgain && observed.containers.some(({ state }) => state !== "Created");
}

/** The app containers' actions in a new sandbox; what still runs has been stopped by then. */
function appsOf(
  pod: Pod,
  observed: ObservedPod | undefined,
  context: ActionContext,
): readonly PodAction[] {
  return pod.spec.containers.flatMap((container): readonly PodAction[] => {
    const newest = newestContainer(observed, container.name);
    const start = startAction(container, observed);
    if (newest === undefined || newest.state === "Created") return [start];
    if (newest.state === "Exited") return containerActions(pod, container, { observed, context });
    // Stopped to be replaced: its exit code does not count.
    return restartsAfterKill(pod.spec, container) ? [start] : [];
  });
}

/** Stops what may still hold processes or addresses: live containers and sandboxes that are up. */
function killPod(observed: ObservedPod | undefined, reason: KillReason): readonly PodAction[] {
  if (observed === undefined) return [];
  const holds =
    observed.containers.some(isLive) || observed.sandboxes.some(({ state }) => state === "Ready");
  if (holds) return [{ type: "KillPod", reason }];
  return observed.containers.filter(({ state }) => state === "Created").map(removalOf);
}

function inSandbox(pod: Pod, at: InSandbox): readonly PodAction[] {
  const { observed, sandbox, context } = at;
  if (isFinished(pod, observed, context.restarts)) {
    // While the runtime still cleans up the last container, a stop would interfere.
    const clearing = observed.containers.some(({ presumed }) => presumed === true);
    return clearing ? [] : killPod(observed, "Finished");
  }
  const clean = [
    ...stopOtherSandboxes(pod, observed, sandbox),
    ...killStrangers(pod, observed, sandbox),
  ];
  const init = initActions(pod, at);
  if (!init.isInitialized) return [...clean, ...init.actions];
  const apps = pod.spec.containers.flatMap((container) =>
    containerActions(pod, container, { observed, context }),
  );
  const requested = requestedActions(pod, at);
  const restarts = requested.length > 0 ? requested : configActions(pod, at);
  return [...clean, ...init.actions, ...apps, ...restarts];
}

/** StopPodSandbox has no grace period: live containers are stopped before, in reverse order of the spec. */
function stopOtherSandboxes(
  pod: Pod,
  observed: ObservedPod,
  keep: ObservedSandbox,
): readonly PodAction[] {
  const names = allContainers(pod.spec).map(({ name }) => name);
  const order = (container: ObservedContainer): number => names.indexOf(container.name);
  const others = observed.sandboxes.filter(({ id }) => id !== keep.id);
  return others.flatMap(({ id, state }): readonly PodAction[] => {
    const live = observed.containers.filter((one) => one.sandboxId === id && isLive(one));
    if (state !== "Ready" && live.length === 0) return [];
    const kills = live
      .toSorted((x, y) => order(y) - order(x))
      .map((one) => killOf(one, "SandboxChanged"));
    return [...kills, { type: "StopSandbox", id, reason: "Duplicate" }];
  });
}

/** Live instances that are not the newest of their name, or whose name is not in the spec. */
function killStrangers(
  pod: Pod,
  observed: ObservedPod,
  sandbox: ObservedSandbox,
): readonly PodAction[] {
  const names = new Set(allContainers(pod.spec).map(({ name }) => name));
  return observed.containers
    .filter((container) => container.sandboxId === sandbox.id && isLive(container))
    .filter((c) => !names.has(c.name) || newestContainer(observed, c.name)?.id !== c.id)
    .map((c) => killOf(c, names.has(c.name) ? "Duplicate" : "NotInSpec"));
}
