// The workload kinds: objects of which this node makes pods, with the version of each.

export const WORKLOAD_KINDS = ["Deployment", "DaemonSet", "StatefulSet"] as const;
export type WorkloadKind = (typeof WORKLOAD_KINDS)[number];

/** Those whose pods end: which of them runs depends on what has run. */
export const RUN_KINDS = ["Job", "CronJob"] as const;
export type RunKind = (typeof RUN_KINDS)[number];

const VERSIONS: Readonly<Record<WorkloadKind | RunKind, string>> = {
  Deployment: "apps/v1",
  DaemonSet: "apps/v1",
  StatefulSet: "apps/v1",
  Job: "batch/v1",
  CronJob: "batch/v1",
};

export function isWorkloadKind(kind: unknown): kind is WorkloadKind {
  return WORKLOAD_KINDS.some((known) => known === kind);
}

export function isRunKind(kind: unknown): kind is RunKind {
  return RUN_KINDS.some((known) => known === kind);
}

/** The `apiVersion` of the kinds of this node. */
export function versionOf(kind: string): string {
  return isWorkloadKind(kind) || isRunKind(kind) ? VERSIONS[kind] : "v1";
}

/** The name of its only pod, which runs as long as the workload is declared. */
export function replicaName(workload: string, ordinal = 0): string {
  return `${workload}-${ordinal}`;
}
