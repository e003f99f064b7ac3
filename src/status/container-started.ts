// Whether a container has started and is ready, as its probes see it. kubelet: prober manager, UpdatePodStatus

import type { ContainerState, ContainerStatus } from "../api/v1/pod-status.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { isSidecar } from "../api/v1/pod.ts";
import type { ContainerVerdicts } from "../api/v1/probe.ts";
import type { Container } from "../api/v1/container.ts";

export interface StartedInput {
  readonly spec: PodSpec;
  readonly container: Container;
  /** What is shown: a container whose postStart hook runs waits. */
  readonly state: ContainerState;
  /** Of this instance; undefined = none of its probes has been asked. */
  readonly verdicts: ContainerVerdicts | undefined;
}

/** A plain init container is ready when it has done its work; a sidecar is like an app container. */
export function startedAndReady(input: StartedInput): Pick<ContainerStatus, "started" | "ready"> {
  const { spec, container, state } = input;
  const started = isStarted(input);
  if (spec.initContainers.includes(container) && !isSidecar(spec, container))
    return { started, ready: state.terminated?.exitCode === 0 };
  return { started, ready: started && isReady(input) };
}

function isStarted({ container, state, verdicts }: StartedInput): boolean {
  if (state.running === undefined) return false;
  return container.startupProbe === undefined || verdicts?.startup === "Success";
}

function isReady({ container, verdicts }: StartedInput): boolean {
  return container.readinessProbe === undefined || verdicts?.readiness === "Success";
}
