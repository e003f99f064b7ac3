// The vocabulary of what can be done to a pod in the runtime, and what a decision about it needs to know.

import type { Monotonic } from "../../lib/clock.ts";
import type { RestartMemory } from "./container-restart.ts";
import type { ProbeVerdicts } from "../../api/v1/probe.ts";

export type KillReason =
  | "SandboxChanged"
  | "ContainerUnknown"
  | "ContainerChanged"
  | "ConfigChanged"
  | "RestartOrdered"
  | "NotInSpec"
  | "Duplicate"
  | "Finished"
  | "DeadlineExceeded"
  | "LivenessProbe"
  | "StartupProbe"
  | "PostStartHook";

/** One step; the log line, the test and the executor say the same words. */
export type PodAction =
  /** Everything of the pod ends as it should: hooks, grace, sidecars last; then its sandboxes. Records stay. */
  | { readonly type: "KillPod"; readonly reason: KillReason }
  /** StopPodSandbox: also kills whatever still runs in it; the records of its containers stay. */
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
  /** `attempt` is the lowest that is free as far as the runtime tells; the executor also looks at the logs. */
  | { readonly type: "StartContainer"; readonly container: string; readonly attempt: number }
  | {
      readonly type: "Wait";
      readonly container: string;
      readonly until: Monotonic;
      readonly reason: "CrashLoopBackOff";
    };

export interface ActionContext {
  readonly now: Monotonic;
  /** What is remembered of each container's restarts in this process; absent = nothing. */
  readonly restarts: Readonly<Record<string, RestartMemory>>;
  readonly probes: ProbeVerdicts;
  /** Ids of containers whose postStart hook failed. */
  readonly hookFailed: ReadonlySet<string>;
  /** Container name → hash as written on a container made today. */
  readonly hashes: Readonly<Record<string, string>>;
  /** Container name → digest of what it would read of ConfigMaps and Secrets if it started now; absent = nothing, or it cannot. */
  readonly configDigests: Readonly<Record<string, string>>;
  /** The container that was ended last because what it reads had changed, until it runs well again. */
  readonly configRestarting?: string;
  /** Ids of containers that somebody has ordered to start anew; absent = none. */
  readonly ordered?: ReadonlySet<string>;
  /** The pod has failed as a whole: whatever runs ends, nothing starts. */
  readonly failed?: KillReason;
}
