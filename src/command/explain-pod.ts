// Explains why a pod does not run as it should: the known causes, the nearest to the root first.

import type { Rejection } from "../api/pod/desired-pod.ts";
import type { EventEntry } from "../node/events-list.ts";
import type { PodEntry } from "../node/pod-list.ts";
import type { ContainerStatus } from "../api/v1/pod-status.ts";
import { rfc3339 } from "../lib/clock.ts";

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
    | "waiting";
  /** Container, condition or field path. */
  readonly element?: string;
  readonly reason: string;
  readonly message: string;
}

export interface PodQuestion {
  readonly namespace: string;
  readonly name: string;
  readonly entry: PodEntry | undefined;
  /** Of all sources. */
  readonly rejected: readonly Rejection[];
  /** Of all objects, oldest first. */
  readonly events: readonly EventEntry[];
}

export interface Explanation {
  readonly namespace: string;
  readonly pod: string;
  readonly phase?: string;
  /** It runs as it should: there are no causes. */
  readonly well: boolean;
  readonly causes: readonly Cause[];
  /** The newest warnings, newest first. */
  readonly warnings: readonly {
    readonly time: string;
    readonly reason: string;
    readonly message: string;
    readonly count: number;
  }[];
}

const WARNINGS = 5;
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
  ["FailedMount", "volume"],
  ["FailedAttachVolume", "volume"],
  ["CreatePodSandboxError", "sandbox"],
  ["FailedCreatePodSandBox", "sandbox"],
  ["NetworkNotReady", "sandbox"],
]);

/** undefined = the pod is unknown here. */
export function explainPod(question: PodQuestion): Explanation | undefined {
  const { namespace, name, entry } = question;
  const refused = question.rejected.filter(
    (one) => one.kind === "Pod" && one.namespace === namespace && one.name === name,
  );
  if (entry === undefined && refused.length === 0) return undefined;
  // Such a pod is shown as Failed for it, which is one cause and not two.
  const notAdmitted = refused.find(({ code }) => code === entry?.status.reason)?.code;
  const sources = refused.map(({ source, ref, code, path, message }) => ({
    category: code === notAdmitted ? ("admission" as const) : sourceCategory(code),
    element: path === "" ? `${source} ${ref}` : path,
    reason: code,
    message,
  }));
  const own = entry === undefined ? [] : causesOf(entry, question.events);
  const causes = [...sources, ...own.filter(({ reason }) => reason !== notAdmitted)];
  return {
    namespace,
    pod: name,
    ...(entry === undefined ? {} : { phase: entry.status.phase }),
    well: causes.length === 0 && entry !== undefined && isWell(entry),
    causes,
    warnings: warningsOf(question),
  };
}

/** A refusal for lack of room is not an error of the source. */
function sourceCategory(code: string): "admission" | "source" {
  return /^(?:OutOf|Unexpected|Node|TooMany|Insufficient|NoRoom|Ports?)/.test(code)
    ? "admission"
    : "source";
}

function isWell({ status }: PodEntry): boolean {
  return (
    status.phase === "Succeeded" ||
    status.conditions.some(({ type, status: is }) => type === "Ready" && is === "True")
  );
}

function causesOf(entry: PodEntry, events: readonly EventEntry[]): readonly Cause[] {
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

function categoryOf(reason: string, message: string): Cause["category"] {
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

function warningsOf({ namespace, name, events }: PodQuestion): Explanation["warnings"] {
  return events
    .filter(
      ({ type, object }) =>
        type === "Warning" &&
        object.kind === "Pod" &&
        object.namespace === namespace &&
        object.name === name,
    )
    .toSorted((a, b) => b.last - a.last)
    .slice(0, WARNINGS)
    .map(({ last, reason, message, count }) => ({ time: rfc3339(last), reason, message, count }));
}
