// The phase of a pod from its containers. kubelet: getPhase

import type {
  ContainerStateTerminated,
  ContainerStatus,
  PodContainerStatuses,
  PodPhase,
} from "../api/v1/pod-status.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { isSidecar } from "../api/v1/pod.ts";
import { type PodFacts, startsAgain } from "./facts.ts";
import type { Container } from "../api/v1/container.ts";

export interface PhaseInput {
  readonly spec: PodSpec;
  /** A container without a status is unknown. */
  readonly statuses: PodContainerStatuses;
  readonly facts: PodFacts;
  /** An app container exists in the current sandbox: its init containers are done. */
  readonly initialized: boolean;
}

/** `Succeeded` and `Failed`, which a pod never leaves. */
export function isTerminal(phase: PodPhase): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

export function podPhase(input: PhaseInput): PodPhase {
  const phase = byContainers(input);
  // A pod that was stopped before it ended by itself has failed. kubelet: TerminatePod
  return input.facts.terminated === true && !isTerminal(phase) ? "Failed" : phase;
}

function byContainers(input: PhaseInput): PodPhase {
  const { spec, facts } = input;
  const init = spec.initContainers
    .filter((container) => !isSidecar(spec, container))
    .map((container) => initKind(container, input));
  if (init.includes("FailedForGood")) return "Failed";
  const sidecars = spec.initContainers
    .filter((container) => isSidecar(spec, container))
    .map((container) => sidecarKind(container, input));
  if (init.includes("Pending")) return "Pending";
  // A sidecar's restart does not make an initialized pod pending.
  const isStarting = sidecars.some((kind) => kind === "Starting" || kind === "Waiting");
  if (isStarting && !input.initialized) return "Pending";
  const apps = spec.containers.map((container) => appKind(container, input));
  const kinds = [...sidecars, ...apps];
  if (kinds.includes("Waiting") || kinds.includes("Unknown")) return "Pending";
  if (kinds.includes("Running") || kinds.includes("Starting")) return "Running";
  return ofStopped(apps, facts);
}

/** No container runs or waits for its first start; sidecars do not count. */
function ofStopped(apps: readonly AppKind[], facts: PodFacts): PodPhase {
  if (apps.length === 0) return "Pending";
  const ended = apps.every((kind) => kind === "Succeeded" || kind === "SucceededForNow")
    ? "Succeeded"
    : "Failed";
  if (facts.terminated === true) return ended;
  const goesOn = apps.some((kind) => kind === "SucceededForNow" || kind === "FailedForNow");
  return goesOn ? "Running" : ended;
}

type InitKind = "Pending" | "Done" | "Failed" | "FailedForGood";

function initKind(container: Container, input: PhaseInput): InitKind {
  const status = statusOf(container, input.statuses.initContainerStatuses);
  const ended = status === undefined ? undefined : lastEnd(status);
  if (ended === undefined) return "Pending";
  if (ended.exitCode === 0) return "Done";
  return startsAgain(input.spec, { container, ended }, input.facts) ? "Failed" : "FailedForGood";
}

type SidecarKind = "Running" | "Starting" | "Waiting" | "Stopped" | "Unknown";

function sidecarKind(container: Container, { statuses }: PhaseInput): SidecarKind {
  const status = statusOf(container, statuses.initContainerStatuses);
  if (status === undefined) return "Unknown";
  if (status.state.running !== undefined) return status.started ? "Running" : "Starting";
  return lastEnd(status) === undefined ? "Waiting" : "Stopped";
}

type AppKind =
  "Running" | "Waiting" | "Unknown" | "Succeeded" | "SucceededForNow" | "Failed" | "FailedForNow";

function appKind(container: Container, input: PhaseInput): AppKind {
  const status = statusOf(container, input.statuses.containerStatuses);
  if (status === undefined) return "Unknown";
  if (status.state.running !== undefined) return "Running";
  const ended = lastEnd(status);
  if (ended === undefined) return status.state.waiting === undefined ? "Unknown" : "Waiting";
  const again = startsAgain(input.spec, { container, ended }, input.facts);
  // A container that will start again has not succeeded, whatever its last exit code.
  if (status.state.terminated?.exitCode !== 0) return again ? "FailedForNow" : "Failed";
  return again ? "SucceededForNow" : "Succeeded";
}

/** The last end, also while it waits for its next start; undefined = it runs, or never ran. */
function lastEnd({ state, lastState }: ContainerStatus): ContainerStateTerminated | undefined {
  if (state.terminated !== undefined) return state.terminated;
  return state.waiting === undefined ? undefined : lastState.terminated;
}

function statusOf(
  { name }: Container,
  statuses: readonly ContainerStatus[],
): ContainerStatus | undefined {
  return statuses.find((status) => status.name === name);
}
