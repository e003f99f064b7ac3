// A container's requests and limits as the kernel wants them. kubelet: generateLinuxContainerResources

import { amountIn, containerRequests } from "../../api/resource/pod-amounts.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import { isSidecar } from "../../api/v1/pod.ts";
import { isNodeCritical } from "../../api/resource/priority.ts";
import { qosClass, type QosClass } from "../../api/resource/qos.ts";
import { wholeUnits } from "../../api/resource/quantity.ts";
import type { LinuxContainerResourcesInit } from "../../cri/cri-client.ts";
import { hugePageLimits } from "./huge-pages.ts";
import type { Container } from "../../api/v1/container.ts";

export interface LinuxFacts extends ResourcePolicy {
  /** Of the pod. */
  readonly spec: PodSpec;
  readonly cgroupVersion: 1 | 2;
  /** The node's memory in bytes. */
  readonly memoryBytes: number;
}

/** How this node enforces limits. */
export interface ResourcePolicy {
  /** False = a CPU limit is no quota; absent = true. */
  readonly cpuCFSQuota?: boolean;
  /** Sizes the kernel can limit, as Kubernetes writes them ("2Mi"); absent = none. */
  readonly hugePageSizes?: readonly string[];
  /** Whether the kernel can limit swap, which containers then do not get; absent = no. */
  readonly limitsSwap?: boolean;
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
  // A limit of the whole pod binds each container that has none of its own.
  const cpuLimit = amountIn(limits, "cpu") || amountIn(spec.resources.limits, "cpu");
  const memoryLimit = amountIn(limits, "memory") || amountIn(spec.resources.limits, "memory");
  return {
    // Only a limit is written: then it is the request too.
    cpuShares: cpuShares(requests.cpu === undefined ? cpuLimit : amountIn(requests, "cpu")),
    ...quotaOf(cpuLimit, facts),
    memoryLimitInBytes: wholeUnits(memoryLimit),
    oomScoreAdj: containerScore(container, facts),
    hugepageLimits: hugePageLimits(limits, hugePageSizes),
    ...noSwap(wholeUnits(memoryLimit), facts),
  };
}

function quotaOf(
  milliCpu: bigint,
  { cpuCFSQuota = true }: ResourcePolicy,
): Pick<LinuxContainerResourcesInit, "cpuPeriod" | "cpuQuota"> {
  return cpuCFSQuota ? { cpuPeriod: QUOTA_PERIOD, cpuQuota: cpuQuota(milliCpu) } : {};
}

/** Memory is limited together with swap, or a limit only drives a container into swap. kubelet: NoSwap */
function noSwap(
  memoryLimit: bigint,
  { cgroupVersion, limitsSwap = false }: LinuxFacts,
): Pick<LinuxContainerResourcesInit, "unified" | "memorySwapLimitInBytes"> {
  if (cgroupVersion === 1) return limitsSwap ? { memorySwapLimitInBytes: memoryLimit } : {};
  return {
    unified: {
      // One process killed for memory takes its container along, or a pod runs on crippled.
      "memory.oom.group": "1",
      ...(limitsSwap ? { "memory.swap.max": "0" } : {}),
    },
  };
}

/** 1024 shares per CPU; nothing asked for is the least there is. kubelet: MilliCPUToShares */
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

/** Who is killed first when the node's memory runs out. kubelet: GetContainerOOMScoreAdjust */
function containerScore(container: Container, { spec, memoryBytes }: LinuxFacts): bigint {
  const node = BigInt(Math.floor(memoryBytes));
  if (isNodeCritical(spec)) return GUARANTEED_SCORE;
  const request = memoryRequest(container) + shareOfRest(spec);
  if (!isSidecar(spec, container)) return oomScoreAdj(qosClass(spec), request, node);
  // A sidecar must not be killed before the containers that it serves.
  const served = spec.containers.map((one) => memoryRequest(one) + shareOfRest(spec));
  const least = served.reduce((a, b) => (a < b ? a : b), served[0] ?? request);
  return oomScoreAdj(qosClass(spec), request > least ? request : least, node);
}

/** What the pod asks for beyond its containers counts for all of them alike. */
function shareOfRest(spec: PodSpec): bigint {
  const asked = amountIn(spec.resources.requests, "memory");
  const rest = asked - (containerRequests(spec).get("memory") ?? 0n);
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

// The more was asked for, the safer; always between the two other classes.
function burstableScore(request: bigint, memoryBytes: bigint): bigint {
  const most = BEST_EFFORT_SCORE - 1n;
  if (memoryBytes <= 0n) return most;
  const score = BEST_EFFORT_SCORE - (1_000n * request) / memoryBytes;
  const least = BEST_EFFORT_SCORE + GUARANTEED_SCORE;
  if (score < least) return least;
  return score > most ? most : score;
}
