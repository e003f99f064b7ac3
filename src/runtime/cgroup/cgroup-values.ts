// Values of the cgroups of a pod, of a QoS class and of all pods. kubelet: ResourceConfigForPod, qosContainerManager

import { podLimits, podRequests, type Amounts } from "../../api/resource/pod-requests-limits.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import { qosClass, type QosClass } from "../../api/resource/qos.ts";
import { wholeUnits } from "../../api/resource/quantity.ts";
import type { CgroupController, CgroupValue } from "../../host/cgroups.ts";
import { cpuQuota, cpuShares, QUOTA_PERIOD, kernelPageSize } from "./container-resources.ts";

export interface PodCgroupFacts {
  readonly version: 1 | 2;
  readonly cpuCFSQuota: boolean;
  /** -1 = no limit. */
  readonly podPidsLimit: number;
  /** As Kubernetes writes them, "2Mi"; empty if the kernel cannot limit huge pages. */
  readonly hugePageSizes: readonly string[];
  /** Whether requested memory is protected: MemoryQoS. */
  readonly protectsMemory: boolean;
}

/** For the pod's own cgroup, in the order of writing. */
export function podCgroupValues(spec: PodSpec, facts: PodCgroupFacts): readonly CgroupValue[] {
  const requests = podRequests(spec);
  return [
    ...cpuValues(spec, requests, facts),
    ...memoryValues(spec, facts),
    ...pidsValues(facts),
    ...hugePageValues(requests, facts),
    ...minValue(facts.protectsMemory ? requests.get("memory") : undefined),
  ];
}

export interface AllPodsFacts {
  readonly version: 1 | 2;
  /** What pods may have together: the node's capacity, less what is reserved if that is enforced. */
  readonly allocatable: Amounts;
  /** Resources of which nothing is kept from pods need no common limit. */
  readonly isKept: (resource: "memory" | "pid") => boolean;
  /** Memory that the pods' requests protect; absent without MemoryQoS. */
  readonly memoryMin?: bigint;
}

/** For the common cgroup of all pods. kubelet: enforceNodeAllocatableCgroups */
export function allPodsValues(facts: AllPodsFacts): readonly CgroupValue[] {
  const { version, allocatable, isKept, memoryMin } = facts;
  const most = (resource: "memory" | "pid"): string | undefined =>
    isKept(resource) ? String(wholeUnits(allocatable.get(resource) ?? 0n)) : undefined;
  return [
    sharesValue(version, cpuShares(allocatable.get("cpu") ?? 0n)),
    // Otherwise version 1 does not count the memory of child cgroups.
    ...(version === 1 ? [soft("memory", "memory.use_hierarchy", "1")] : []),
    soft("memory", MEMORY_FILE[version], most("memory") ?? NO_LIMIT[version]),
    soft("pids", "pids.max", most("pid") ?? "max"),
    ...minValue(memoryMin),
  ];
}

interface QosFacts {
  readonly version: 1 | 2;
  readonly cpuRequests: bigint;
  /** As of AllPodsFacts, of the pods of the class. */
  readonly memoryMin?: bigint;
}

/** For the common cgroup of a class; Guaranteed pods have none. */
export function qosValues(
  qos: Exclude<QosClass, "Guaranteed">,
  { version, cpuRequests, memoryMin }: QosFacts,
): readonly CgroupValue[] {
  // BestEffort gets the minimum, Burstable a share in proportion to its pods' requests.
  const isLeast = qos === "BestEffort";
  return [
    sharesValue(version, cpuShares(isLeast ? 0n : cpuRequests)),
    ...(isLeast ? [] : minValue(memoryMin)),
  ];
}

/** For the existing cgroup of what is not a pod. kubelet: enforceExistingCgroup */
export function reservedValues(
  version: 1 | 2,
  reserved: Amounts,
  options: { readonly onlyCpu: boolean; readonly protectMemory: boolean },
): readonly CgroupValue[] {
  const cpu = reserved.get("cpu");
  const shares = cpu === undefined ? [] : [sharesValue(version, cpuShares(cpu))];
  if (options.onlyCpu) return shares;
  const [memory, pids] = [reserved.get("memory"), reserved.get("pid")];
  return [
    ...shares,
    ...(memory === undefined ? [] : [soft("memory", MEMORY_FILE[version], inWhole(memory))]),
    ...(pids === undefined ? [] : [soft("pids", "pids.max", inWhole(pids))]),
    ...minValue(options.protectMemory ? memory : undefined),
  ];
}

function inWhole(milli: bigint): string {
  return String(wholeUnits(milli));
}

function minValue(memoryMin: bigint | undefined): readonly CgroupValue[] {
  if (memoryMin === undefined) return [];
  return [soft("memory", "memory.min", inWhole(memoryMin))];
}

const MEMORY_FILE = { 1: "memory.limit_in_bytes", 2: "memory.max" } as const;
const NO_LIMIT = { 1: "-1", 2: "max" } as const;

function cpuValues(
  spec: PodSpec,
  requests: Amounts,
  { version, cpuCFSQuota }: PodCgroupFacts,
): readonly CgroupValue[] {
  const qos = qosClass(spec);
  const shares = qos === "BestEffort" ? 0n : (requests.get("cpu") ?? 0n);
  const limits = podLimits(spec);
  const isLimited = limits.isDeclared("cpu") && qos !== "BestEffort";
  const quota = isLimited && cpuCFSQuota ? cpuQuota(limits.amounts.get("cpu") ?? 0n) : 0n;
  return [sharesValue(version, cpuShares(shares)), ...quotaValues(version, quota)];
}

function quotaValues(version: 1 | 2, quota: bigint): readonly CgroupValue[] {
  if (quota === 0n) return [];
  if (version === 2) return [limit("cpu", "cpu.max", `${quota} ${QUOTA_PERIOD}`)];
  return [
    limit("cpu", "cpu.cfs_period_us", String(QUOTA_PERIOD)),
    limit("cpu", "cpu.cfs_quota_us", String(quota)),
  ];
}

function memoryValues(spec: PodSpec, { version }: PodCgroupFacts): readonly CgroupValue[] {
  const limits = podLimits(spec);
  const bytes = limits.isDeclared("memory") ? wholeUnits(limits.amounts.get("memory") ?? 0n) : 0n;
  return bytes === 0n ? [] : [limit("memory", MEMORY_FILE[version], String(bytes))];
}

function pidsValues({ podPidsLimit }: PodCgroupFacts): readonly CgroupValue[] {
  return podPidsLimit > 0 ? [limit("pids", "pids.max", String(podPidsLimit))] : [];
}

/** A size without a request is limited to 0. */
function hugePageValues(
  requests: Amounts,
  { version, hugePageSizes }: PodCgroupFacts,
): readonly CgroupValue[] {
  const asked = [...requests.keys()].flatMap((name) => /^hugepages-(.+)$/.exec(name)?.[1] ?? []);
  return [...new Set([...hugePageSizes, ...asked])].map((size) => {
    const bytes = wholeUnits(requests.get(`hugepages-${size}`) ?? 0n);
    const file = `hugetlb.${kernelPageSize(size)}.${version === 2 ? "max" : "limit_in_bytes"}`;
    return { controller: "hugetlb", file, value: String(bytes), isLimit: bytes > 0n };
  });
}

/** Maps the shares of version 1 (2 to 262144) to the weights of version 2 (1 to 10000). */
function sharesValue(version: 1 | 2, shares: bigint): CgroupValue {
  if (version === 1) return soft("cpu", "cpu.shares", String(shares));
  return soft("cpu", "cpu.weight", String(1n + ((shares - 2n) * 9_999n) / 262_142n));
}

function limit(controller: CgroupController, file: string, value: string): CgroupValue {
  return { controller, file, value, isLimit: true };
}

function soft(controller: CgroupController, file: string, value: string): CgroupValue {
  return { controller, file, value, isLimit: false };
}
