// Which pod is evicted first. kubelet: rankMemoryPressure, rankDiskPressureFunc, rankPIDPressure

import { isStatic } from "../api/pod/labels.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { podRequests } from "../api/resource/pod-requests-limits.ts";
import { isSystemCritical, priorityOf, type PriorityClasses } from "../api/resource/priority.ts";
import { wholeUnits } from "../api/resource/quantity.ts";
import { diskOf, memoryOf, type DiskParts, type PodUsage } from "../stats/pod-usage.ts";
import type { StarvedResource } from "./signals.ts";

export interface RankInput {
  readonly resource: StarvedResource;
  /** What lies on the file system that is short of space; ignored for other resources. */
  readonly parts: DiskParts;
  readonly priorityClasses: PriorityClasses;
  /** By UID. */
  readonly usages: ReadonlyMap<string, PodUsage>;
}

interface Ranked {
  readonly desired: DesiredPod;
  readonly group: number;
  readonly exceeds: boolean;
  readonly priority: number;
  /** Usage beyond what the pod requests; undefined = unknown, which comes first. */
  readonly excess: number | undefined;
}

/**
 * The first is evicted first: what uses more than it requests, then lower priority, then the largest excess. Pods of
 * unsigned documents go before all others, so that no unsigned input costs another pod its place; the rest, of files and of
 * signed documents, has one order. Critical pods are never among them, but those of unsigned documents that stand before
 * others.
 */
export function rankPods(pods: readonly DesiredPod[], input: RankInput): readonly DesiredPod[] {
  const ordinary = pods.filter(({ pod }) => !isSystemCritical(pod.spec));
  const hasOthers = ordinary.some((desired) => !isUnsigned(desired));
  const critical = pods.filter(
    (desired) => hasOthers && isSystemCritical(desired.pod.spec) && isUnsigned(desired),
  );
  return [...ordinary, ...critical]
    .map((desired) => ranked(desired, input))
    .toSorted(byRank)
    .map(({ desired }) => desired);
}

function isUnsigned({ source, signed }: DesiredPod): boolean {
  return !isStatic(source) && signed !== true;
}

function ranked(desired: DesiredPod, input: RankInput): Ranked {
  const { pod } = desired;
  const used = usedBy(input.usages.get(desired.uid), input);
  const requested = requestedBy(desired, input.resource);
  const ofCritical = isSystemCritical(pod.spec) ? 1 : 0;
  return {
    desired,
    group: isUnsigned(desired) ? ofCritical : 2,
    // kubelet: process ids have no requests, and do not count here.
    exceeds: input.resource === "pids" ? false : used === undefined || used > requested,
    priority: priorityOf(pod, input),
    excess: used === undefined ? undefined : used - requested,
  };
}

function byRank(a: Ranked, b: Ranked): number {
  return (
    a.group - b.group ||
    Number(b.exceeds) - Number(a.exceeds) ||
    a.priority - b.priority ||
    excessOf(b) - excessOf(a)
  );
}

function excessOf({ excess = Number.MAX_SAFE_INTEGER }: Ranked): number {
  return excess;
}

function usedBy(
  usage: PodUsage | undefined,
  { resource, parts }: Pick<RankInput, "resource" | "parts">,
): number | undefined {
  if (usage === undefined) return undefined;
  switch (resource) {
    case "memory":
      return memoryOf(usage);
    case "ephemeral-storage":
      return diskOf(usage, parts).bytes;
    case "inodes":
      return diskOf(usage, parts).inodes;
    case "pids":
      return usage.pids;
  }
}

function requestedBy({ pod }: DesiredPod, resource: StarvedResource): number {
  if (resource !== "memory" && resource !== "ephemeral-storage") return 0;
  return Number(wholeUnits(podRequests(pod.spec).get(resource) ?? 0n));
}
