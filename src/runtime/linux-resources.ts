// A container's requests and limits as the kernel wants them. kubelet: generateLinuxContainerResources

import type { Container, ResourceName } from "../api/pod.ts";
import type { QosClass } from "../api/qos.ts";
import { parseQuantity, wholeUnits } from "../api/quantity.ts";
import type { LinuxContainerResourcesInit } from "../cri/cri-client.ts";

export interface LinuxFacts {
  readonly qos: QosClass;
  readonly cgroupVersion: 1 | 2;
  /** The node's memory in bytes. */
  readonly memoryBytes: number;
}

/** Microseconds. */
const QUOTA_PERIOD = 100_000n;
const MIN_QUOTA = 1_000n;
const MIN_SHARES = 2n;
const MAX_SHARES = 262_144n;
const SHARES_PER_CPU = 1_024n;

export function linuxResources(
  container: Container,
  { qos, cgroupVersion, memoryBytes }: LinuxFacts,
): LinuxContainerResourcesInit {
  const { limits, requests } = container.resources;
  const cpuLimit = amount(limits, "cpu");
  const cpuRequest = amount(requests, "cpu");
  const memoryRequest = wholeUnits(amount(requests, "memory"));
  return {
    // Only a limit is written: then it is the request too.
    cpuShares: cpuShares(cpuRequest === 0n ? cpuLimit : cpuRequest),
    cpuPeriod: QUOTA_PERIOD,
    cpuQuota: cpuQuota(cpuLimit),
    memoryLimitInBytes: wholeUnits(amount(limits, "memory")),
    oomScoreAdj: oomScoreAdj(qos, memoryRequest, BigInt(Math.floor(memoryBytes))),
    // One process killed for memory takes its container along, or a pod runs on crippled.
    ...(cgroupVersion === 2 ? { unified: { "memory.oom.group": "1" } } : {}),
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
export function oomScoreAdj(qos: QosClass, memoryRequest: bigint, memoryBytes: bigint): bigint {
  switch (qos) {
    case "Guaranteed":
      return -997n;
    case "BestEffort":
      return 1_000n;
    case "Burstable":
      return burstableScore(memoryRequest, memoryBytes);
  }
}

// The more was asked for, the safer; always between the two other classes.
function burstableScore(memoryRequest: bigint, memoryBytes: bigint): bigint {
  if (memoryBytes <= 0n) return 999n;
  const score = 1_000n - (1_000n * memoryRequest) / memoryBytes;
  if (score < 3n) return 3n;
  return score > 999n ? 999n : score;
}

function amount(
  amounts: Readonly<Partial<Record<ResourceName, string>>>,
  resource: ResourceName,
): bigint {
  const text = amounts[resource];
  const milli = text === undefined ? 0n : (parseQuantity(text) ?? 0n);
  return milli > 0n ? milli : 0n;
}
