// Kubernetes' v1 PodStatus and NodeStatus, as far as this node reports them.

import type { ResourceList, ResourceRequirements } from "./resources.ts";

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
export type ConditionStatus = "True" | "False" | "Unknown";

export interface PodCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason?: string;
  readonly message?: string;
  /** RFC 3339. */
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

export interface ContainerStateWaiting {
  readonly reason: string;
  readonly message?: string;
}
export interface ContainerStateRunning {
  readonly startedAt: string;
}
export interface ContainerStateTerminated {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly containerID: string;
}
/** At most one of the three is set. */
export interface ContainerState {
  readonly waiting?: ContainerStateWaiting;
  readonly running?: ContainerStateRunning;
  readonly terminated?: ContainerStateTerminated;
}

/** Where a volume is mounted. */
export interface VolumeMountStatus {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: true;
  /** Of a mount that is read-only. */
  readonly recursiveReadOnly?: "Enabled" | "Disabled";
}

/** The user of a container's first process. */
export interface LinuxContainerUser {
  readonly uid: number;
  readonly gid: number;
  readonly supplementalGroups?: readonly number[];
}

export interface ContainerStatus {
  readonly name: string;
  readonly state: ContainerState;
  readonly lastState: ContainerState;
  readonly ready: boolean;
  readonly started: boolean;
  readonly restartCount: number;
  readonly image: string;
  readonly imageID: string;
  /** `containerd://<id>`; "" while there is none. */
  readonly containerID: string;
  /** What was reserved for it; absent = nothing, or it was not created yet. */
  readonly allocatedResources?: ResourceList;
  /** Absent = it was not created yet. */
  readonly resources?: Partial<ResourceRequirements>;
  readonly volumeMounts?: readonly VolumeMountStatus[];
  /** Absent = it was not created yet, or the runtime does not report it (containerd before 2.0). */
  readonly user?: { readonly linux: LinuxContainerUser };
  /** Only where the spec asks for one. */
  readonly stopSignal?: string;
}

/** Both lists of a status, each in the spec's order. */
export type PodContainerStatuses = Pick<PodStatus, "initContainerStatuses" | "containerStatuses">;

export interface PodStatus {
  /** Of the spec this status speaks of: a changed spec is another pod, so it is always 1. */
  readonly observedGeneration: number;
  readonly phase: PodPhase;
  readonly conditions: readonly PodCondition[];
  readonly reason?: string;
  readonly message?: string;
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  readonly startTime?: string;
  readonly initContainerStatuses: readonly ContainerStatus[];
  readonly containerStatuses: readonly ContainerStatus[];
  readonly qosClass: "Guaranteed" | "Burstable" | "BestEffort";
}

export interface NodeCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime?: string;
}

export interface NodeStatus {
  readonly conditions: readonly NodeCondition[];
  readonly addresses: readonly { readonly type: string; readonly address: string }[];
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly nodeInfo: Readonly<Record<string, string>>;
}

/** undefined = nothing is known of it yet. */
export function allStatuses(
  status: Pick<PodStatus, "initContainerStatuses" | "containerStatuses"> | undefined,
): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

export function hasRunningContainer(status: PodContainerStatuses): boolean {
  return allStatuses(status).some(({ state }) => state.running !== undefined);
}

export interface PodFailure {
  /** Kubernetes' word: `DeadlineExceeded`, `Evicted`, … */
  readonly reason: string;
  readonly message: string;
}

/** The status, or a part of one, with every message changed, at any depth; the same object if no message differs. */
export function withMessages<T extends object>(status: T, change: (message: string) => string): T {
  let copy: T | undefined;
  for (const name in status) {
    const member: unknown = status[name];
    const changed = changedMember(name, member, change);
    if (changed !== member) copy = Object.assign(copy ?? shallowCopy(status), { [name]: changed });
  }
  return copy ?? status;
}

function changedMember(
  name: string,
  member: unknown,
  change: (message: string) => string,
): unknown {
  if (typeof member === "object" && member !== null) return withMessages(member, change);
  return name === "message" && typeof member === "string" ? change(member) : member;
}

function shallowCopy<T extends object>(value: T): T {
  return Object.assign(Array.isArray(value) ? [] : {}, value);
}
