// Which instance of which container of a pod a log is asked of. k8s: validateContainer, LogLocation

import { allStatuses, type ContainerStatus } from "../../api/v1/pod-status.ts";
import type { PodEntry } from "../../node/pod-list.ts";
import type { Answer } from "../http/exchange.ts";
import { refusal } from "../kube/kube-status.ts";
import { chooseContainer } from "../stream/stream-target.ts";
import type { LogOptions } from "./log-options.ts";

export interface LogInstance {
  readonly container: string;
  /** How often it was restarted before. */
  readonly attempt: number;
}

/** An answer = the refusal, in the words of an API server. */
export function chooseInstance(
  { pod, status }: PodEntry,
  { container: asked, isPrevious }: Pick<LogOptions, "container" | "isPrevious">,
): LogInstance | Answer {
  const { name } = pod.metadata;
  const chosen = chooseContainer(pod, asked);
  if ("status" in chosen) return chosen;
  const container = chosen.name;
  const known = allStatuses(status).find((one) => one.name === container);
  if (isPrevious) {
    const attempt = (known?.restartCount ?? 0) - 1;
    if (attempt >= 0) return { container, attempt };
    return refusal(400, `previous terminated container "${container}" in pod "${name}" not found`);
  }
  if (known !== undefined && hasRun(known)) return { container, attempt: known.restartCount };
  const why = known?.state.waiting?.reason ?? "PodInitializing";
  return refusal(400, `container "${container}" in pod "${name}" is waiting to start: ${why}`);
}

function hasRun({ state, lastState, containerID }: ContainerStatus): boolean {
  return (
    state.running !== undefined ||
    state.terminated !== undefined ||
    lastState.terminated !== undefined ||
    containerID !== ""
  );
}
