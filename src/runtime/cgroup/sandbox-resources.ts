// What a pod's containers together may take, and what its sandbox costs beside them: said to runtimes that make a machine of it.
// kubelet: applySandboxResources

import { amountsOf, podLimits, podRequests, type Amounts } from "../../api/resource/pod-amounts.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import { wholeUnits } from "../../api/resource/quantity.ts";
import type { LinuxContainerResourcesInit } from "../../cri/cri-client.ts";
import { cpuQuota, cpuShares } from "./linux-resources.ts";

export interface SandboxResources {
  readonly resources: LinuxContainerResourcesInit;
  readonly overhead: LinuxContainerResourcesInit;
}

/** Microseconds. */
const QUOTA_PERIOD = 100_000n;

/** `cpuCFSQuota` false = a CPU limit is no quota. */
export function sandboxResources(spec: PodSpec, cpuCFSQuota: boolean): SandboxResources {
  const containers = { ...spec, overhead: {} };
  const overhead = amountsOf(spec.overhead);
  return {
    resources: linux(podRequests(containers), podLimits(containers).amounts, cpuCFSQuota),
    // What it costs is what it may take.
    overhead: Object.keys(spec.overhead).length === 0 ? {} : linux(overhead, overhead, cpuCFSQuota),
  };
}

function linux(
  requests: Amounts,
  limits: Amounts,
  cpuCFSQuota: boolean,
): LinuxContainerResourcesInit {
  const cpuLimit = limits.get("cpu") ?? 0n;
  return {
    cpuShares: cpuShares(requests.get("cpu") ?? cpuLimit),
    memoryLimitInBytes: wholeUnits(limits.get("memory") ?? 0n),
    ...(cpuCFSQuota ? { cpuPeriod: QUOTA_PERIOD, cpuQuota: cpuQuota(cpuLimit) } : {}),
  };
}
