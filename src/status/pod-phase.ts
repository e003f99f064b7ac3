// The phase of a pod from its containers. kubelet: getPhase

import type { PodContainerStatuses, PodPhase } from "../api/v1/pod-status.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { isSidecar } from "../api/v1/pod.ts";
import { lastEnd, statusNamed } from "./container-state.ts";
import { type PodFacts, startsAgain } from "./pod-facts.ts";
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
  const { spec } = input;
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
  return ofStopped(apps);
}

/** No container runs or waits for its first start; sidecars do not count. */
function ofStopped(apps: readonly AppKind[]): PodPhase {
  if (apps.length === 0) return "Pending";
  if (apps.includes("StartsAgain")) return "Running";
  return apps.every((kind) => kind === "Succeeded") ? "Succeeded" : "Failed";
}

type InitKind = "Pending" | "Done" | "Failed" | "FailedForGood";

function initKind(container: Container, input: PhaseInput): InitKind {
  const status = statusNamed(input.statuses.initContainerStatuses, container);
  const ended = status === undefined ? undefined : lastEnd(status);
  if (ended === undefined) return "Pending";
  if (ended.exitCode === 0) return "Done";
  return startsAgain(input.spec, { container, ended }, input.facts) ? "Failed" : "FailedForGood";
}

type SidecarKind = "Running" | "Starting" | "Waiting" | "Stopped" | "Unknown";

function sidecarKind(container: Container, { statuses }: PhaseInput): SidecarKind {
  const status = statusNamed(statuses.initContainerStatuses, container);
  if (status === undefined) return "Unknown";
  if (status.state.running !== undefined) return status.started ? "Running" : "Starting";
  return lastEnd(status) === undefined ? "Waiting" : "Stopped";
}

type AppKind = "Running" | "Waiting" | "Unknown" | "StartsAgain" | "Succeeded" | "Failed";

function appKind(container: Container, input: PhaseInput): AppKind {
  const status = statusNamed(input.statuses.containerStatuses, container);
  if (status === undefined) return "Unknown";
  if (status.state.running !== undefined) return "Running";
  const ended = lastEnd(status);
  if (ended === undefined) return status.state.waiting === undefined ? "Unknown" : "Waiting";
  // A container that will start again has not succeeded, whatever its last exit code.
  if (startsAgain(input.spec, { container, ended }, input.facts)) return "StartsAgain";
  return status.state.terminated?.exitCode === 0 ? "Succeeded" : "Failed";
}
