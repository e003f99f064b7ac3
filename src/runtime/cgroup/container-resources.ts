// Requests and limits of containers and sandboxes in CRI's form.
// kubelet: generateLinuxContainerResources, applySandboxResources

import {
  amountsOf,
  podRequests,
  podLimits,
  type Amounts,
  amountIn,
  sumOfContainers,
} from "../../api/resource/pod-requests-limits.ts";
import { isNodeCritical } from "../../api/resource/priority.ts";
import { qosClass, type QosClass } from "../../api/resource/qos.ts";
import { wholeUnits } from "../../api/resource/quantity.ts";
import type { LinuxContainerResourcesInit } from "../../cri/cri-client.ts";
import type { ResourceList } from "../../api/v1/resources.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import type { Container } from "../../api/v1/container.ts";
import { isSidecar } from "../../api/v1/pod.ts";
import { memoryQosFiles, type ContainerMemory } from "./memory-qos.ts";

export interface LinuxFacts extends ResourcePolicy {
  readonly spec: PodSpec;
  readonly cgroupVersion: 1 | 2;
  /** The node's memory in bytes. */
  readonly memoryBytes: number;
}

/** How this node enforces limits. */
export interface ResourcePolicy {
  /** False = CPU limits are not enforced as a quota; absent = true. */
  readonly cpuCFSQuota?: boolean;
  /** Sizes that the kernel can limit, as Kubernetes writes them ("2Mi"); absent = none. */
  readonly hugePageSizes?: readonly string[];
  /** The kernel can limit swap: containers then get none; absent = false. */
  readonly limitsSwap?: boolean;
  /** MemoryQoS; absent = off. */
  readonly memoryQos?: Pick<ContainerMemory, "allocatable" | "throttlingFactor">;
}

/** Microseconds. */
export const QUOTA_PERIOD = 100_000n;
const MIN_QUOTA = 1_000n;
const MIN_SHARES = 2n;
const MAX_SHARES = 262_144n;
const SHARES_PER_CPU = 1_024n;
const GUARANTEED_SCORE = -997n;
const BEST_EFFORT_SCORE = 1_000n;

export function linuxResources(
  container: Container,
  facts: LinuxFacts,
): LinuxContainerResourcesInit {
  const { spec, hugePageSizes = [] } = facts;
  const { limits, requests } = container.resources;
  // The pod's limit applies to each container without its own.
  const cpuLimit = amountIn(limits, "cpu") || amountIn(spec.resources.limits, "cpu");
  const memoryLimit = amountIn(limits, "memory") || amountIn(spec.resources.limits, "memory");
  return {
    // Without a request the limit counts as the request.
    cpuShares: cpuShares(requests.cpu === undefined ? cpuLimit : amountIn(requests, "cpu")),
    ...quotaOf(cpuLimit, facts.cpuCFSQuota),
    memoryLimitInBytes: wholeUnits(memoryLimit),
    oomScoreAdj: containerScore(container, facts),
    hugepageLimits: hugePageLimits(limits, hugePageSizes),
    ...withMemoryQos(noSwap(wholeUnits(memoryLimit), facts), container, facts),
  };
}

function withMemoryQos<R extends Pick<LinuxContainerResourcesInit, "unified">>(
  resources: R,
  { resources: { limits, requests } }: Container,
  { memoryQos }: LinuxFacts,
): R {
  if (memoryQos === undefined) return resources;
  const request = wholeUnits(amountIn(requests, "memory"));
  const limit = wholeUnits(amountIn(limits, "memory"));
  const files = memoryQosFiles({ request, limit, ...memoryQos });
  return { ...resources, unified: { ...resources.unified, ...files } };
}

function quotaOf(
  milliCpu: bigint,
  cpuCFSQuota = true,
): Pick<LinuxContainerResourcesInit, "cpuPeriod" | "cpuQuota"> {
  return cpuCFSQuota ? { cpuPeriod: QUOTA_PERIOD, cpuQuota: cpuQuota(milliCpu) } : {};
}

/** Without a swap limit a memory limit would only move a container into swap. kubelet: NoSwap */
function noSwap(
  memoryLimit: bigint,
  { cgroupVersion, limitsSwap = false }: LinuxFacts,
): Pick<LinuxContainerResourcesInit, "unified" | "memorySwapLimitInBytes"> {
  if (cgroupVersion === 1) return limitsSwap ? { memorySwapLimitInBytes: memoryLimit } : {};
  return {
    unified: {
      // The OOM killer ends the whole container: one that lost a process may not work any more.
      "memory.oom.group": "1",
      ...(limitsSwap ? { "memory.swap.max": "0" } : {}),
    },
  };
}

/** 1024 shares per CPU, at least 2. kubelet: MilliCPUToShares */
export function cpuShares(milliCpu: bigint): bigint {
  const shares = (milliCpu * SHARES_PER_CPU) / 1_000n;
  if (shares < MIN_SHARES) return MIN_SHARES;
  return shares > MAX_SHARES ? MAX_SHARES : shares;
}

/** Microseconds of CPU in each period of 100 ms; 0 = no limit. kubelet: MilliCPUToQuota */
export function cpuQuota(milliCpu: bigint): bigint {
  if (milliCpu === 0n) return 0n;
  const quota = (milliCpu * QUOTA_PERIOD) / 1_000n;
  return quota < MIN_QUOTA ? MIN_QUOTA : quota;
}

/** The OOM killer prefers higher scores. kubelet: GetContainerOOMScoreAdjust */
function containerScore(container: Container, { spec, memoryBytes }: LinuxFacts): bigint {
  const node = BigInt(Math.floor(memoryBytes));
  if (isNodeCritical(spec)) return GUARANTEED_SCORE;
  const request = memoryRequest(container) + shareOfRest(spec);
  if (!isSidecar(spec, container)) return oomScoreAdj(qosClass(spec), request, node);
  // A sidecar must not be killed before the app containers that it serves.
  const served = spec.containers.map((one) => memoryRequest(one) + shareOfRest(spec));
  const least = served.reduce((a, b) => (a < b ? a : b), served[0] ?? request);
  return oomScoreAdj(qosClass(spec), request > least ? request : least, node);
}

/** The pod's request beyond those of its containers, divided equally among them. */
function shareOfRest(spec: PodSpec): bigint {
  const asked = amountIn(spec.resources.requests, "memory");
  const rest = asked - (sumOfContainers(spec, "requests").get("memory") ?? 0n);
  const count = BigInt(spec.containers.length + spec.initContainers.length);
  return asked === 0n || rest <= 0n || count === 0n ? 0n : wholeUnits(rest / count);
}

function memoryRequest({ resources }: Container): bigint {
  return wholeUnits(amountIn(resources.requests, "memory"));
}

export function oomScoreAdj(qos: QosClass, request: bigint, memoryBytes: bigint): bigint {
  switch (qos) {
    case "Guaranteed":
      return GUARANTEED_SCORE;
    case "BestEffort":
      return BEST_EFFORT_SCORE;
    case "Burstable":
      return burstableScore(request, memoryBytes);
  }
}

// A larger request gives a lower score, always between those of the two other classes.
function burstableScore(request: bigint, memoryBytes: bigint): bigint {
  const most = BEST_EFFORT_SCORE - 1n;
  if (memoryBytes <= 0n) return most;
  const score = BEST_EFFORT_SCORE - (1_000n * request) / memoryBytes;
  const least = BEST_EFFORT_SCORE + GUARANTEED_SCORE;
  if (score < least) return least;
  return score > most ? most : score;
}

/** The kernel's name of a size: "2Mi" → "2MB". */
export function kernelPageSize(size: string): string {
  return size.replace(/i$/, "B");
}

/** A limit for every size; 0 without a request. kubelet: GetHugepageLimitsFromResources */
function hugePageLimits(
  limits: ResourceList,
  sizes: readonly string[],
): { readonly pageSize: string; readonly limit: bigint }[] {
  return sizes.map((size) => ({
    pageSize: kernelPageSize(size),
    limit: wholeUnits(amountIn(limits, `hugepages-${size}`)),
  }));
}

/** The sums of a pod's containers and the overhead of its sandbox, for runtimes that size a virtual machine by them. */
export function sandboxResources(spec: PodSpec, cpuCFSQuota: boolean) {
  const containers = { ...spec, overhead: {} };
  const overhead = amountsOf(spec.overhead);
  return {
    resources: totals(podRequests(containers), podLimits(containers).amounts, cpuCFSQuota),
    // The overhead is request and limit.
    overhead:
      Object.keys(spec.overhead).length === 0 ? {} : totals(overhead, overhead, cpuCFSQuota),
  };
}

function totals(
  requests: Amounts,
  limits: Amounts,
  cpuCFSQuota: boolean,
): LinuxContainerResourcesInit {
  const cpuLimit = limits.get("cpu") ?? 0n;
  return {
    cpuShares: cpuShares(requests.get("cpu") ?? cpuLimit),
    memoryLimitInBytes: wholeUnits(limits.get("memory") ?? 0n),
    ...quotaOf(cpuLimit, cpuCFSQuota),
  };
}
