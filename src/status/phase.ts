// The phase of a pod from its containers. kubelet: getPhase

import type { ContainerState, ContainerStatus, PodPhase } from "../api/pod-status.ts";
import type { RestartPolicy } from "../api/pod.ts";

export interface PhaseInput {
  readonly restartPolicy: RestartPolicy;
  /** One per container of the spec. */
  readonly statuses: readonly ContainerStatus[];
  /** Nothing of this pod will ever start again. */
  readonly terminated: boolean;
}

/** `Succeeded` and `Failed`: a pod that leaves them does not exist. */
export function isTerminal(phase: PodPhase): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

export function podPhase({ restartPolicy, statuses, terminated }: PhaseInput): PodPhase {
  const kinds = statuses.map(kindOf);
  const has = (kind: Kind): boolean => kinds.includes(kind);
  if (has("Waiting") || has("Unknown")) return "Pending";
  if (has("Running")) return "Running";
  if (!has("Stopped")) return "Pending";
  const succeeded = statuses.every(endedWell);
  if (terminated) return succeeded ? "Succeeded" : "Failed";
  if (restartPolicy === "Always") return "Running";
  if (succeeded) return "Succeeded";
  return restartPolicy === "Never" ? "Failed" : "Running";
}

type Kind = "Waiting" | "Running" | "Stopped" | "Unknown";

function kindOf({ state, lastState }: ContainerStatus): Kind {
  if (state.running !== undefined) return "Running";
  if (state.terminated !== undefined) return "Stopped";
  if (state.waiting === undefined) return "Unknown";
  // One that ran before and waits for its next start counts as stopped, not as new.
  return lastState.terminated === undefined ? "Waiting" : "Stopped";
}

function endedWell({ state }: { readonly state: ContainerState }): boolean {
  return state.terminated?.exitCode === 0;
}
