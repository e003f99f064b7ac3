// The agent's facts about a pod beyond the runtime's state: why a container waits, why the pod ends.

import type { ContainerStateTerminated } from "../api/v1/pod-status.ts";
import type { ProbeVerdicts } from "../api/v1/probe.ts";
import type { Container } from "../api/v1/container.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { restartsAfter } from "../api/pod/restart-policy.ts";
import { containerID } from "./container-state.ts";

/** Why a container does not run although it should; kept by the pod's worker. */
export interface WaitingFact {
  /** As in Kubernetes: `ErrImagePull`, `ImagePullBackOff`, `CrashLoopBackOff`, `CreateContainerError`, … */
  readonly reason: string;
  readonly message?: string;
}

export interface PodFacts {
  /** By container name; shown only while the container is to be started (again). */
  readonly waiting: Readonly<Record<string, WaitingFact>>;
  /** Results of its probes; absent = none yet. */
  readonly probes?: ProbeVerdicts;
  /** Containers that run and whose postStart hook has not ended: shown as waiting. */
  readonly starting?: readonly string[];
  /**
   * IDs of ended instances that are replaced whatever their exit code: a probe, a hook or a changed spec ended them.
   * Without it such a pod could look finished until the next instance starts.
   */
  readonly replaced?: readonly string[];
  /** The exit of a container asks for RestartAllContainers, and none has started again yet. */
  readonly restartingAll?: boolean;
  /** The pod's own reason and message, e.g. `Evicted`, `DeadlineExceeded`. */
  readonly podReason?: string;
  readonly podMessage?: string;
  /** The pod failed as a whole (admission, deadline, eviction): phase `Failed`, no container starts again. */
  readonly failed?: boolean;
  /** The pod is being stopped: no container starts again. */
  readonly terminating?: boolean;
  /** The node itself ends the pod (eviction, shutdown): condition `DisruptionTarget`, which stays once published. */
  readonly disruption?: { readonly reason: string; readonly message: string };
}

/** Whether an ended container gets another instance. kubelet: ContainerShouldRestart, and instances that the agent replaces */
export function startsAgain(
  spec: PodSpec,
  { container, ended }: { readonly container: Container; readonly ended: ContainerStateTerminated },
  facts: PodFacts,
): boolean {
  if (restartsAfter(spec, container, ended.exitCode)) return true;
  return facts.replaced?.some((id) => containerID(id) === ended.containerID) === true;
}

/** The pod ends: no container starts again. */
export function isEnding(facts: PodFacts): boolean {
  return facts.terminating === true || facts.failed === true;
}
