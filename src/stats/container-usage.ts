// What a container uses: as the runtime tells it, and from its cgroup where the runtime tells nothing (containerd 1.6 knows
// only the processor time and the working set).

import type { ContainerStats } from "../cri/gen/runtime/v1/api_pb.ts";
import type { CgroupUsage, MemoryUsage } from "../host/usage/cgroup-usage.ts";
import { withoutUndefined } from "../lib/json.ts";
import type { Usage } from "./summary.ts";

type UInt64 = { readonly value: bigint } | undefined;

export function containerUsage(stats: ContainerStats | undefined, cgroup: CgroupUsage): Usage {
  const { cpu, memory } = stats ?? {};
  const workingSet = numberOf(memory?.workingSetBytes) ?? cgroup.memory?.workingSetBytes;
  return {
    ...cgroup,
    ...withoutUndefined({
      cpuNanoSeconds: numberOf(cpu?.usageCoreNanoSeconds) ?? cgroup.cpuNanoSeconds,
      nanoCores: numberOf(cpu?.usageNanoCores),
      memory: workingSet === undefined ? undefined : memoryOf(workingSet, stats, cgroup),
    }),
  };
}

function memoryOf(
  workingSetBytes: number,
  stats: ContainerStats | undefined,
  { memory: read }: CgroupUsage,
): MemoryUsage {
  const { memory } = stats ?? {};
  return {
    ...(read ?? { usageBytes: workingSetBytes, rssBytes: 0, pageFaults: 0, majorPageFaults: 0 }),
    ...withoutUndefined({
      usageBytes: numberOf(memory?.usageBytes),
      rssBytes: numberOf(memory?.rssBytes),
      pageFaults: numberOf(memory?.pageFaults),
      majorPageFaults: numberOf(memory?.majorPageFaults),
    }),
    workingSetBytes,
  };
}

/** containerd 1.6 sends 0 for the rate that it does not measure. */
function numberOf(value: UInt64): number | undefined {
  return value === undefined || value.value === 0n ? undefined : Number(value.value);
}
