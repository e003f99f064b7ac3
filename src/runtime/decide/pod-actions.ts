// Decides what has to happen to one pod in the runtime; performs nothing. kubelet: computePodActions

import type {
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
} from "../../api/pod/observed-pod.ts";
import { allContainers, isSidecar, type Pod } from "../../api/v1/pod.ts";
import { restartsAfterKill } from "../../api/pod/restart-policy.ts";
import { containerActions, killOf, removalOf, startAction } from "./container-actions.ts";
import { configActions, orderedActions } from "./running-restart.ts";
import { initActions } from "./init-actions.ts";
import { newestContainer } from "../../api/pod/newest-observed.ts";
import { isFinished, isLive, usableSandbox } from "../observe/newest.ts";
import type { ActionContext, KillReason, PodAction } from "./pod-action.ts";

/**
 * The steps, in order, that bring the runtime to what the pod asks for; empty when it is there already.
 * "Newest" is always the highest attempt, never a creation time.
 */
export function computePodActions(
  pod: Pod,
  observed: ObservedPod | undefined,
  context: ActionContext,
): readonly PodAction[] {
  if (context.failed !== undefined) return killPod(observed, context.failed);
  const sandbox = usableSandbox(pod, observed);
  return sandbox === undefined || observed === undefined
    ? withoutSandbox(pod, observed, context)
    : inSandbox(pod, { observed, sandbox, context });
}

function withoutSandbox(
  pod: Pod,
  observed: ObservedPod | undefined,
  context: ActionContext,
): readonly PodAction[] {
  if (isFinished(pod, observed, context.restarts)) return killPod(observed, "Finished");
  const kills = killPod(observed, "SandboxChanged");
  if (neverAgain(pod, observed)) return kills;
  const apps = appsOf(pod, observed, context);
  // Whatever ran may run only once, and the rest has ended for good: a sandbox would stay empty.
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
export function neverAgain(pod: Pod, observed: ObservedPod | undefined): boolean {
  if (observed === undefined || observed.sandboxes.length === 0) return false;
  if (usableSandbox(pod, observed) !== undefined) return false;
  const mayRunAgain = allContainers(pod.spec).some(
    (container) => !isSidecar(pod.spec, container) && restartsAfterKill(pod.spec, container),
  );
  return !mayRunAgain && observed.containers.some(({ state }) => state !== "Created");
}

/** What becomes of the app containers in a new sandbox: all that still runs has been ended by then. */
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
    // Ended to be replaced: what it exits with tells nothing.
    return restartsAfterKill(pod.spec, container) ? [start] : [];
  });
}

/** Whatever may still hold processes or addresses; a sandbox known to be down holds neither once its containers are. */
function killPod(observed: ObservedPod | undefined, reason: KillReason): readonly PodAction[] {
  if (observed === undefined) return [];
  const holds =
    observed.containers.some(isLive) || observed.sandboxes.some(({ state }) => state === "Ready");
  return holds ? [{ type: "KillPod", reason }] : removeUnstarted(observed);
}

function removeUnstarted(observed: ObservedPod): readonly PodAction[] {
  return observed.containers.filter((container) => container.state === "Created").map(removalOf);
}

interface InSandbox {
  readonly observed: ObservedPod;
  readonly sandbox: ObservedSandbox;
  readonly context: ActionContext;
}

function inSandbox(pod: Pod, { observed, sandbox, context }: InSandbox): readonly PodAction[] {
  if (isFinished(pod, observed, context.restarts)) {
    // While the runtime is still clearing up the last one, a stop would only get in its way.
    const clearing = observed.containers.some(({ presumed }) => presumed === true);
    return clearing ? [] : killPod(observed, "Finished");
  }
  const clean = [
    ...stopOtherSandboxes(pod, observed, sandbox),
    ...killStrangers(pod, observed, sandbox),
  ];
  const init = initActions(pod, { observed, sandbox, context });
  if (!init.isInitialized) return [...clean, ...init.actions];
  const apps = pod.spec.containers.flatMap((container) =>
    containerActions(pod, container, { observed, context }),
  );
  const ordered = orderedActions(pod, { observed, sandbox, context });
  const anew = ordered.length > 0 ? ordered : configActions(pod, { observed, sandbox, context });
  return [...clean, ...init.actions, ...apps, ...anew];
}

/** StopPodSandbox knows no grace: whatever lives in one is ended before, the last to start first. */
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

/** Instances that may run and are not the newest of their name, or whose name the spec does not have. */
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
