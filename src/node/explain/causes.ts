// The known causes for which a pod does not run as it should, the nearest to the root first.

import { isConditionTrue } from "../../api/pod/pod-summary.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { ContainerStatus } from "../../api/v1/pod-status.ts";
import { rfc3339 } from "../../lib/clock.ts";
import type { EventEntry } from "../events-list.ts";
import type { PodEntry } from "../pod-list.ts";

export interface Cause {
  readonly category:
    | "source"
    | "admission"
    | "dependency"
    | "pull"
    | "config"
    | "volume"
    | "sandbox"
    | "back-off"
    | "exit"
    | "probe"
    | "update"
    | "ending"
    | "node"
    | "waiting";
  /** Container, condition or field path. */
  readonly element?: string;
  readonly reason: string;
  readonly message: string;
}

/** By the reason for which a container waits. */
const CATEGORIES = new Map<string, Cause["category"]>([
  ["CrashLoopBackOff", "back-off"],
  ["ErrImagePull", "pull"],
  ["ImagePullBackOff", "pull"],
  ["InvalidImageName", "pull"],
  ["ErrImageNeverPull", "pull"],
  ["ImageInspectError", "pull"],
  ["RegistryUnavailable", "pull"],
  ["CreateContainerConfigError", "config"],
  ["CreateContainerError", "config"],
  ["RunContainerError", "config"],
  ["PostStartHookError", "config"],
  ["UnsupportedByRuntime", "config"],
  ["DependencyNotReady", "dependency"],
  ["ClaimBusy", "volume"],
  ["ClaimsMayHang", "volume"],
  ["MountError", "volume"],
  ["FailedMount", "volume"],
  ["FailedAttachVolume", "volume"],
  ["CreatePodSandboxError", "sandbox"],
  ["FailedCreatePodSandBox", "sandbox"],
  ["NetworkNotReady", "sandbox"],
]);

/** The refusals of one pod. `notAdmitted`: the code for which the pod itself is shown as Failed. */
export function refusalCauses(
  refused: readonly Rejection[],
  notAdmitted: string | undefined,
): readonly Cause[] {
  return refused.map(({ source, ref, code, path, message }) => ({
    category: code === notAdmitted ? ("admission" as const) : sourceCategory(code),
    element: path === "" ? `${source} ${ref}` : path,
    reason: code,
    message,
  }));
}

/** A refusal for lack of room is not an error of the source. */
function sourceCategory(code: string): "admission" | "source" {
  return /^(?:OutOf|Unexpected|Node|TooMany|Insufficient|NoRoom|Ports?)/.test(code)
    ? "admission"
    : "source";
}

export function isWell({ status }: PodEntry): boolean {
  return status.phase === "Succeeded" || isConditionTrue({ status }, "Ready");
}

/** Of the pod itself. */
export function causesOf(entry: PodEntry, events: readonly EventEntry[]): readonly Cause[] {
  const { status, deletedAt, pendingUpdate } = entry;
  const ending = causeIf(deletedAt, (since) => ({
    category: "ending",
    reason: "Terminating",
    message: `the pod has been stopping since ${rfc3339(since)}`,
  }));
  const failed = causeIf(status.reason, (reason) => ({
    category: "admission",
    reason,
    message: status.message ?? reason,
  }));
  const update = causeIf(pendingUpdate, ({ specHash, reason, message }) => ({
    category: "update",
    element: specHash,
    reason,
    message,
  }));
  const conditions = isWell(entry) ? [] : status.conditions.flatMap(conditionCause);
  const containers = [...status.initContainerStatuses, ...status.containerStatuses].flatMap(
    (container) => containerCauses(container, entry, events),
  );
  return [...ending, ...failed, ...conditions, ...containers, ...update];
}

function causeIf<T>(value: T | undefined, cause: (value: T) => Cause): readonly Cause[] {
  return value === undefined ? [] : [cause(value)];
}

/** Conditions that the causes of the containers do not cover. */
function conditionCause({
  type,
  status,
  reason,
  message,
}: PodEntry["status"]["conditions"][number]): readonly Cause[] {
  if (status !== "False" || message === undefined) return [];
  if (["Ready", "ContainersReady", "Initialized"].includes(type)) return [];
  return [
    {
      category: type === "PodScheduled" ? "admission" : "waiting",
      element: type,
      reason: reason ?? type,
      message,
    },
  ];
}

function containerCauses(
  container: ContainerStatus,
  entry: PodEntry,
  events: readonly EventEntry[],
): readonly Cause[] {
  const { name, state, ready, started } = container;
  const { waiting, running, terminated } = state;
  if (waiting !== undefined) return waitingCauses(container, waiting);
  if (terminated !== undefined && terminated.exitCode !== 0) {
    const message = `the container ended with ${endOf(terminated)}`;
    return [{ category: "exit", element: name, reason: terminated.reason, message }];
  }
  const isInit = entry.pod.spec.initContainers.some((one) => one.name === name);
  if (running === undefined || ready || (isInit && started)) return [];
  const unhealthy = events.findLast(
    ({ reason, object }) =>
      reason === "Unhealthy" &&
      object.uid === entry.pod.metadata.uid &&
      (object.fieldPath ?? "").endsWith(`{${name}}`),
  );
  const fallback = started
    ? "the container runs and is not ready"
    : "the container runs and has not started up";
  const { message = fallback, reason = "NotReady" } = unhealthy ?? {};
  return [{ category: "probe", element: name, reason, message }];
}

function waitingCauses(
  { name, lastState, restartCount }: ContainerStatus,
  { reason, message = reason }: NonNullable<ContainerStatus["state"]["waiting"]>,
): readonly Cause[] {
  // It waits for another container, which has its own cause.
  if (reason === "PodInitializing") return [];
  const last = lastState.terminated;
  const exit =
    last === undefined ? "" : `; it last ended with ${endOf(last)} after ${restartCount} restarts`;
  return [
    { category: categoryOf(reason, message), element: name, reason, message: message + exit },
  ];
}

export function categoryOf(reason: string, message: string): Cause["category"] {
  if (message.startsWith("waiting for pod ") || message.startsWith("the pods wait for each other"))
    return "dependency";
  return CATEGORIES.get(reason) ?? "waiting";
}

function endOf({
  exitCode,
  signal,
  reason,
}: NonNullable<ContainerStatus["state"]["terminated"]>): string {
  const how = signal === undefined ? `exit code ${exitCode}` : `signal ${signal}`;
  return reason === "" ? how : `${how} (${reason})`;
}
