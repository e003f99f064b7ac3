// What the agent knows of a pod beyond the runtime's answer: why a container waits, why the pod ends.

import type { PodCondition } from "../api/v1/pod-status.ts";
import type { ProbeVerdicts } from "../api/v1/probe.ts";

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
   * IDs of ended instances that another one follows whatever their exit code: a probe, a hook or a changed spec
   * ended them. Without it such a pod could pass for finished until the next one starts.
   */
  readonly replaced?: readonly string[];
  /** The pod's own reason and message, e.g. `Evicted`, `DeadlineExceeded`. */
  readonly podReason?: string;
  readonly podMessage?: string;
  /** The pod failed before or beside its containers (admission, deadline, eviction): phase `Failed`, nothing starts again. */
  readonly failed?: boolean;
  /** The pod is being stopped: no container starts again. */
  readonly terminating?: boolean;
  /** Everything of the pod has stopped for good: the phase becomes `Succeeded` or `Failed`. */
  readonly terminated?: boolean;
  /** The node ends the pod for a reason of its own (eviction, shutdown): condition `DisruptionTarget`; it stays once published. */
  readonly disruption?: { readonly reason: string; readonly message: string };
  /** Conditions beside the kubelet's own; listed last. */
  readonly extraConditions?: readonly PodCondition[];
  /** Wall-clock milliseconds when the agent first saw the pod; absent = as in `previous`, else now. */
  readonly startTime?: number;
}
