// The node's statistics in the shape of the kubelet's /stats/summary, from plain readings. What is unknown is absent.
// k8s: pkg/kubelet/apis/stats/v1alpha1

import type { NamedPod } from "../api/v1/pod.ts";
import type { FileSystemRoom, Room } from "../host/resource-readings.ts";
import type { TreeUsage } from "../host/tree/walk-tree.ts";
import type { CgroupPressure, CgroupUsage } from "../host/usage/cgroup-usage.ts";
import type { NetworkUsage } from "../host/usage/network-usage.ts";
import { rfc3339 } from "../lib/clock.ts";
import { withoutUndefined, type JsonObject } from "../lib/json.ts";

/** What processes use, with the rate since the reading before. */
export interface Usage extends CgroupUsage {
  /** Billionths of a processor. */
  readonly nanoCores?: number;
  readonly pressure?: CgroupPressure;
}

export interface SummaryPod extends NamedPod {
  readonly uid: string;
  /** Wall ms. */
  readonly startedAt: number;
  readonly usage: Usage;
  /** Absent = it uses the node's own. */
  readonly network?: NetworkUsage;
  readonly containers: readonly SummaryContainer[];
  readonly volumes: readonly SummaryVolume[];
}

export interface SummaryContainer {
  readonly name: string;
  readonly startedAt: number;
  readonly usage: Usage;
  /** Absent = not asked for. */
  readonly disk?: { readonly layer: TreeUsage; readonly logs: TreeUsage };
}

export interface SummaryVolume {
  readonly name: string;
  /** Of a claim. */
  readonly claim?: string;
  readonly used: TreeUsage;
  /** Counts as the pod's ephemeral storage. */
  readonly isEphemeral: boolean;
  readonly room: FileSystemRoom | undefined;
}

export interface SummaryFacts {
  readonly nodeName: string;
  /** Wall ms. */
  readonly now: number;
  readonly bootTime: number | undefined;
  readonly usage: Usage;
  readonly memory: Room | undefined;
  readonly swap: Room | undefined;
  readonly pids: Room | undefined;
  readonly network: NetworkUsage | undefined;
  readonly nodefs: FileSystemRoom | undefined;
  readonly imagefs: FileSystemRoom | undefined;
  /** Bytes and inodes of images and of writable layers, as the runtime counts them. */
  readonly images: TreeUsage | undefined;
  /** `kubelet`, `pods`. */
  readonly system: readonly { readonly name: string; readonly usage: Usage }[];
  readonly pods: readonly SummaryPod[];
  /** `only_cpu_and_memory`: the rest is left out. */
  readonly isShort: boolean;
}

export function summary(facts: SummaryFacts): JsonObject {
  return { node: nodeStats(facts), pods: facts.pods.map((pod) => podStats(pod, facts)) };
}

function nodeStats(facts: SummaryFacts): JsonObject {
  const { nodeName, bootTime, system, nodefs, imagefs, images, pids, isShort, now } = facts;
  const startTime = bootTime === undefined ? undefined : rfc3339(bootTime);
  const shown = {
    nodeName,
    startTime,
    systemContainers: system.map(({ name, usage }) => ({ name, ...processes(usage, now) })),
    ...processes(facts.usage, now),
    memory: nodeMemory(facts),
    ...nodeSwap(facts),
  };
  if (isShort) return withoutUndefined(shown);
  const imageFs = fileSystem(imagefs, now, images);
  return withoutUndefined({
    ...shown,
    io: io(facts.usage, now),
    network: network(facts.network, now),
    fs: fileSystem(nodefs, now),
    runtime: imageFs === undefined ? undefined : { imageFs, containerFs: imageFs },
    rlimit:
      pids === undefined
        ? undefined
        : { time: rfc3339(now), maxpid: pids.capacity, curproc: pids.capacity - pids.available },
  });
}

/** The root cgroup of version 2 has no counters of memory. */
function nodeMemory({ usage, memory: room, now }: SummaryFacts): JsonObject | undefined {
  const known = memory(usage, now);
  if (room === undefined) return known;
  const psi = usage.pressure?.memory;
  const usageBytes = room.capacity - room.available;
  return withoutUndefined({
    ...(known ?? { time: rfc3339(now), usageBytes, psi: psi && { ...psi } }),
    availableBytes: room.available,
    workingSetBytes: usageBytes,
  });
}

function nodeSwap({ swap, now }: SummaryFacts): JsonObject {
  if (swap === undefined) return {};
  const { capacity, available } = swap;
  const swapUsageBytes = capacity - available;
  return { swap: { time: rfc3339(now), swapAvailableBytes: available, swapUsageBytes } };
}

function io({ pressure }: Usage, now: number): JsonObject | undefined {
  return pressure?.io === undefined ? undefined : { time: rfc3339(now), psi: { ...pressure.io } };
}

function podStats(pod: SummaryPod, facts: SummaryFacts): JsonObject {
  const { name, namespace, uid, startedAt, usage, containers, volumes } = pod;
  const { now, isShort } = facts;
  const shown = {
    podRef: { name, namespace, uid },
    startTime: rfc3339(startedAt),
    containers: containers.map((one) => containerStats(one, facts)),
    ...processes(usage, now),
  };
  if (isShort) return withoutUndefined(shown);
  const { pids } = usage;
  return withoutUndefined({
    ...shown,
    io: io(usage, now),
    network: network(pod.network, now),
    volume: volumes.map((volume) => volumeStats(volume, { pod, now })),
    "ephemeral-storage": fileSystem(facts.nodefs, now, ephemeral(pod)),
    process_stats: pids === undefined ? undefined : { process_count: pids },
  });
}

function containerStats(
  { name, startedAt, usage, disk }: SummaryContainer,
  { now, imagefs, nodefs, isShort }: SummaryFacts,
): JsonObject {
  const shown = { name, startTime: rfc3339(startedAt), ...processes(usage, now) };
  if (isShort || disk === undefined) return withoutUndefined(shown);
  return withoutUndefined({
    ...shown,
    io: io(usage, now),
    rootfs: fileSystem(imagefs ?? nodefs, now, disk.layer),
    logs: fileSystem(nodefs, now, disk.logs),
  });
}

function volumeStats(
  { name, claim, used, room }: SummaryVolume,
  { pod, now }: { readonly pod: SummaryPod; readonly now: number },
): JsonObject {
  const { namespace } = pod;
  const pvcRef = claim === undefined ? undefined : { name: claim, namespace };
  return withoutUndefined({ name, ...fileSystem(room, now, used), pvcRef });
}

function ephemeral({ containers, volumes }: SummaryPod): TreeUsage {
  const parts = [
    ...containers.flatMap(({ disk }) => (disk === undefined ? [] : [disk.layer, disk.logs])),
    ...volumes.filter(({ isEphemeral }) => isEphemeral).map(({ used }) => used),
  ];
  const sum = (of: keyof TreeUsage): number => parts.reduce((all, one) => all + one[of], 0);
  return { bytes: sum("bytes"), inodes: sum("inodes") };
}

function processes(usage: Usage, now: number): JsonObject {
  const { cpuNanoSeconds, nanoCores, swapBytes, swapLimitBytes: limit, pressure } = usage;
  const time = rfc3339(now);
  return withoutUndefined({
    cpu:
      cpuNanoSeconds === undefined
        ? undefined
        : withoutUndefined({
            time,
            usageNanoCores: nanoCores,
            usageCoreNanoSeconds: cpuNanoSeconds,
            psi: pressure?.cpu && { ...pressure.cpu },
          }),
    memory: memory(usage, now),
    swap:
      swapBytes === undefined
        ? undefined
        : withoutUndefined({
            time,
            swapAvailableBytes: limit === undefined ? undefined : Math.max(0, limit - swapBytes),
            swapUsageBytes: swapBytes,
          }),
  });
}

function memory({ memory: known, pressure }: Usage, now: number): JsonObject | undefined {
  if (known === undefined) return undefined;
  const { limitBytes, usageBytes, workingSetBytes, rssBytes, ...faults } = known;
  const { pageFaults, majorPageFaults } = faults;
  return withoutUndefined({
    time: rfc3339(now),
    availableBytes:
      limitBytes === undefined ? undefined : Math.max(0, limitBytes - workingSetBytes),
    usageBytes,
    workingSetBytes,
    rssBytes,
    pageFaults,
    majorPageFaults,
    psi: pressure?.memory && { ...pressure.memory },
  });
}

function network(known: NetworkUsage | undefined, now: number): JsonObject | undefined {
  if (known === undefined) return undefined;
  const interfaces = known.interfaces.map((one) => ({ ...one }));
  return { time: rfc3339(now), ...known.default, interfaces };
}

/** `used`: of it; absent = what all use together. */
function fileSystem(
  room: FileSystemRoom | undefined,
  now: number,
  used?: TreeUsage,
): JsonObject | undefined {
  if (room === undefined) return undefined;
  const { bytes, inodes } = room;
  const all = inodes === undefined ? undefined : inodes.capacity - inodes.available;
  return withoutUndefined({
    time: rfc3339(now),
    availableBytes: bytes.available,
    capacityBytes: bytes.capacity,
    usedBytes: used?.bytes ?? bytes.capacity - bytes.available,
    inodesFree: inodes?.available,
    inodes: inodes?.capacity,
    inodesUsed: used?.inodes ?? all,
  });
}
