// Decides what has to happen to one container: app container, sidecar, or init container until it is done.

import {
  type ObservedContainer,
  type ObservedPod,
  newestContainer,
} from "../../api/pod/observed-pod.ts";
import type { Pod } from "../../api/v1/pod.ts";
import { restartsAfterKill } from "../../api/pod/restart-policy.ts";
import type { ActionContext, KillReason, PodAction } from "./pod-action.ts";
import { restartTime, shouldRestart } from "./crash-loop-backoff.ts";
import { nextAttempt } from "../observe/newest.ts";
import type { Container } from "../../api/v1/container.ts";

interface ContainerContext {
  readonly observed: ObservedPod | undefined;
  readonly context: ActionContext;
}

export function startAction(container: Container, observed: ObservedPod | undefined): PodAction {
  const attempt = nextAttempt(newestContainer(observed, container.name));
  return { type: "StartContainer", container: container.name, attempt };
}

/** The first instance in a sandbox: an instance elsewhere is dead by then, or was never started. */
export function startAnew(container: Container, observed: ObservedPod): readonly PodAction[] {
  const newest = newestContainer(observed, container.name);
  const start = startAction(container, observed);
  return newest?.state === "Created" ? [removalOf(newest), start] : [start];
}

export function containerActions(
  pod: Pod,
  container: Container,
  { observed, context }: ContainerContext,
): readonly PodAction[] {
  const newest = newestContainer(observed, container.name);
  const start = startAction(container, observed);
  if (newest === undefined) return [start];
  switch (newest.state) {
    case "Created":
      return [removalOf(newest), start];
    case "Unknown": {
      const kill = killOf(newest, "ContainerUnknown");
      return restartsAfterKill(pod.spec, container) ? [kill, start] : [kill];
    }
    case "Running": {
      // If it runs in another sandbox, that one is stopped, and the next look starts the container again.
      const reason = whyReplace(container, newest, context);
      return reason === undefined ? [] : [killOf(newest, reason)];
    }
    case "Exited": {
      const memory = context.restarts[container.name];
      if (!shouldRestart(pod.spec, { container, exited: newest, memory })) return [];
      const until = restartTime(memory, newest.id);
      if (until <= context.now) return [start];
      return [{ type: "Wait", container: container.name, until, reason: "CrashLoopBackOff" }];
    }
  }
}

/** Why a running instance must be replaced; undefined = it stays. */
export function whyReplace(
  container: Container,
  newest: ObservedContainer,
  { hashes, probes, hookFailed }: ActionContext,
): KillReason | undefined {
  if (hasChanged(newest.hash, hashes[container.name])) return "ContainerChanged";
  if (hookFailed.has(newest.id)) return "PostStartHook";
  const verdicts = probes[newest.id];
  if (container.livenessProbe !== undefined && verdicts?.liveness === "Failure")
    return "LivenessProbe";
  if (container.startupProbe !== undefined && verdicts?.startup === "Failure")
    return "StartupProbe";
  return undefined;
}

/** Runs as it should, and has passed its startup probe. */
export function hasStarted(
  container: Container,
  newest: ObservedContainer,
  context: ActionContext,
): boolean {
  if (newest.state !== "Running" || whyReplace(container, newest, context) !== undefined)
    return false;
  return container.startupProbe === undefined || context.probes[newest.id]?.startup === "Success";
}

/** Hashes of another or no version compare as equal: another version of the agent must restart nothing. */
function hasChanged(written: string, wanted: string | undefined): boolean {
  if (wanted === undefined || !written.startsWith("v1:") || !wanted.startsWith("v1:")) return false;
  return written !== wanted;
}

export function killOf(container: ObservedContainer, reason: KillReason): PodAction {
  return { type: "KillContainer", id: container.id, container: container.name, reason };
}

export function removalOf({ id, name }: ObservedContainer): PodAction {
  return { type: "RemoveContainer", id, container: name };
}
