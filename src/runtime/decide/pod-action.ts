// The actions on a pod in the runtime, and the facts that deciding on them needs.

import type { Monotonic } from "../../lib/clock.ts";
import type { RestartMemory } from "./crash-loop-backoff.ts";
import type { ProbeVerdicts } from "../../api/v1/probe.ts";
import type { ObservedPod, ObservedSandbox } from "../../api/pod/observed-pod.ts";

export type KillReason =
  | "SandboxChanged"
  | "ContainerUnknown"
  | "ContainerChanged"
  | "ConfigChanged"
  | "RestartOrdered"
  | "RestartAllContainers"
  | "NotInSpec"
  | "Duplicate"
  | "Finished"
  | "DeadlineExceeded"
  | "LivenessProbe"
  | "StartupProbe"
  | "PostStartHook";

/** One step. The log line, the tests and the executor use the same names. */
export type PodAction =
  /** Stops all containers gracefully (hooks, grace period, sidecars last), then the sandboxes. Their records stay. */
  | { readonly type: "KillPod"; readonly reason: KillReason }
  /** StopPodSandbox: also kills what still runs in it. The records of its containers stay. */
  | { readonly type: "StopSandbox"; readonly id: string; readonly reason: KillReason }
  | { readonly type: "CreateSandbox"; readonly attempt: number }
  | {
      readonly type: "KillContainer";
      readonly id: string;
      readonly container: string;
      readonly reason: KillReason;
    }
  /** Only for containers that were created and never started. */
  | { readonly type: "RemoveContainer"; readonly id: string; readonly container: string }
  /** `attempt` is the lowest that is free in the runtime's lists; the executor also checks the log files. */
  | { readonly type: "StartContainer"; readonly container: string; readonly attempt: number }
  | {
      readonly type: "Wait";
      readonly container: string;
      readonly until: Monotonic;
      readonly reason: "CrashLoopBackOff";
    };

/** A pod in its usable sandbox. */
export interface InSandbox {
  readonly observed: ObservedPod;
  /** The sandbox in which the containers run: what happened in an earlier one does not count. */
  readonly sandbox: ObservedSandbox;
  readonly context: ActionContext;
  /** Of `PodRun`: instances made before it are of an earlier run, which does not count either. */
  readonly podRestarts: number;
}

export interface ActionContext {
  readonly now: Monotonic;
  /** Each container's restarts as remembered by this process; absent = none. */
  readonly restarts: Readonly<Record<string, RestartMemory>>;
  readonly probes: ProbeVerdicts;
  /** Ids of containers whose postStart hook failed. */
  readonly hookFailed: ReadonlySet<string>;
  /** Container name → hash that a container created now would get. */
  readonly hashes: Readonly<Record<string, string>>;
  /** Container name → digest of what it would read of ConfigMaps and Secrets if it started now; absent = nothing, or it could not start. */
  readonly configDigests: Readonly<Record<string, string>>;
  /** The container restarted last because what it reads has changed, until it is ready again. */
  readonly configRestarting?: string;
  /** Ids of containers whose restart was requested; absent = none. */
  readonly ordered?: ReadonlySet<string>;
  /** The pod has failed as a whole: everything is stopped, nothing is started. */
  readonly failed?: KillReason;
}
