// How far each container of a pod is: the stage that it is in, why it stays there, how it ended last, what it wrote.

import {
  allStatuses,
  type ContainerStateTerminated,
  type ContainerStatus,
} from "../../api/v1/pod-status.ts";
import { isSidecar } from "../../api/v1/pod.ts";
import { rfc3339 } from "../../lib/clock.ts";
import { withoutUndefined } from "../../lib/json.ts";
import type { PodEntry } from "../pod-list.ts";
import { categoryOf, type Cause } from "./causes.ts";
import type { PodNotes } from "./pod-notes.ts";

/** In the order in which a container comes through them. */
type Stage =
  | "Dependency"
  | "Sandbox"
  | "Volumes"
  | "InitContainers"
  | "Image"
  | "Creating"
  | "PostStart"
  | "BackOff"
  | "StartupProbe"
  | "ReadinessProbe"
  | "Running"
  | "Completed"
  | "Failed"
  | "Waiting";

export interface ExplainedContainer {
  readonly name: string;
  readonly kind: "init" | "sidecar" | "app";
  readonly stage: Stage;
  readonly ready: boolean;
  readonly restarts: number;
  /** Why it is no further; absent = it runs, or has completed. */
  readonly reason?: string;
  readonly message?: string;
  readonly lastExit?: Pick<
    ContainerStateTerminated,
    "exitCode" | "signal" | "reason" | "message" | "finishedAt"
  >;
  /** What it wrote last, oldest first. */
  readonly lines: readonly string[];
  /** RFC 3339. Absent = it is not waiting for a time. */
  readonly nextTry?: string;
}

export function explainContainers(
  entry: PodEntry,
  { lines, tries }: PodNotes,
): readonly ExplainedContainer[] {
  const { spec } = entry.pod;
  const init = new Map(spec.initContainers.map((one) => [one.name, isSidecar(spec, one)]));
  return allStatuses(entry.status).map((status) => {
    const { name, state, lastState, ready, restartCount: restarts } = status;
    const isSide = init.get(name);
    const { reason, message } = state.waiting ?? state.terminated ?? {};
    const last = state.terminated ?? lastState.terminated;
    const nextTry = tries.get(name);
    return {
      name,
      kind: isSide === undefined ? "app" : isSide ? "sidecar" : "init",
      stage: stageOf(status, isSide === false),
      ready,
      restarts,
      ...withoutUndefined({ reason, message }),
      ...(last === undefined ? {} : { lastExit: exitOf(last) }),
      lines: lines.get(name) ?? [],
      ...(nextTry === undefined || state.waiting === undefined
        ? {}
        : { nextTry: rfc3339(nextTry) }),
    };
  });
}

const STAGES: Readonly<Record<Cause["category"], Stage>> = {
  source: "Waiting",
  admission: "Waiting",
  dependency: "Dependency",
  pull: "Image",
  config: "Creating",
  volume: "Volumes",
  sandbox: "Sandbox",
  "back-off": "BackOff",
  exit: "Failed",
  probe: "ReadinessProbe",
  update: "Waiting",
  ending: "Waiting",
  node: "Waiting",
  waiting: "Waiting",
};

function stageOf({ state, ready, started }: ContainerStatus, isInit: boolean): Stage {
  const { waiting, terminated } = state;
  if (waiting !== undefined) return waitingStage(waiting.reason, waiting.message ?? "");
  if (terminated !== undefined) return terminated.exitCode === 0 ? "Completed" : "Failed";
  if (!started) return "StartupProbe";
  return ready || isInit ? "Running" : "ReadinessProbe";
}

function waitingStage(reason: string, message: string): Stage {
  if (message.startsWith("pulling image ")) return "Image";
  if (reason === "PodInitializing") return "InitContainers";
  if (reason === "ContainerCreating") return "Creating";
  if (reason === "PostStartHookError") return "PostStart";
  return STAGES[categoryOf(reason, message)];
}

function exitOf({
  exitCode,
  signal,
  reason,
  message,
  finishedAt,
}: ContainerStateTerminated): NonNullable<ExplainedContainer["lastExit"]> {
  return { exitCode, reason, ...withoutUndefined({ signal, message, finishedAt }) };
}
