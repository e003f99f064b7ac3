// The words of evictions and of pressure: the kubelet's, so that what matches on them works here too.

import { amountIn } from "../api/resource/pod-requests-limits.ts";
import { quantityText } from "../api/resource/quantity.ts";
import { allContainers, type Pod } from "../api/v1/pod.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import type { Room } from "../host/resource-readings.ts";
import { containerDisk, type ContainerUsage, type PodUsage } from "../stats/pod-usage.ts";
import { SIGNALS, type PressureCondition, type Signal, type StarvedResource } from "./signals.ts";
import { amountOf, type Threshold } from "./thresholds.ts";

interface EvictionFacts {
  readonly threshold: Threshold;
  readonly room: Room;
  readonly usage: PodUsage | undefined;
}

/** Why a pod was evicted. kubelet: evictionMessage */
export function evictionMessage(pod: Pod, { threshold, room, usage }: EvictionFacts): string {
  const { resource } = SIGNALS[threshold.signal];
  const quantity = amountText(amountOf(threshold.value, room), threshold.signal);
  const available = amountText(room.available, threshold.signal);
  const consumers = allContainers(pod.spec).flatMap(({ name, resources }) => {
    const own = usage?.containers.find((one) => one.name === name);
    const used = own === undefined ? undefined : usedBy(own, resource);
    if (used === undefined) return [];
    const request = Number(amountIn(resources.requests, resource) / 1000n);
    if (used <= request) return [];
    const [has, asked] = [bytesText(used), bytesText(request)];
    return `Container ${name} was using ${has}, request is ${asked}, has larger consumption of ${resource}.`;
  });
  return [
    `The node was low on resource: ${resource}.`,
    `Threshold quantity: ${quantity}, available: ${available}.`,
    ...consumers,
  ].join(" ");
}

function usedBy(container: ContainerUsage, resource: StarvedResource): number | undefined {
  if (resource === "memory") return container.memoryBytes;
  return resource === "ephemeral-storage" ? containerDisk(container).bytes : undefined;
}

function amountText(amount: number, signal: Signal): string {
  const isCount = /\.inodesFree$|^pid\./.test(signal);
  return isCount ? String(Math.floor(amount)) : bytesText(amount);
}

/** Whole KiB where there are any, as the kubelet shows them. */
function bytesText(bytes: number): string {
  const whole = bytes < 1024 ? Math.floor(bytes) : Math.floor(bytes / 1024) * 1024;
  return quantityText(BigInt(whole) * 1000n, "Binary");
}

export function emptyDirMessage(volume: string, limit: string): string {
  return `Usage of EmptyDir volume "${volume}" exceeds the limit "${limit}".`;
}

export function podStorageMessage(limit: string): string {
  return `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}.`;
}

export function containerStorageMessage(container: string, limit: string): string {
  return `Container ${container} exceeded its local ephemeral storage limit "${limit}".`;
}

const CONDITIONS: readonly {
  readonly type: PressureCondition;
  readonly met: readonly [reason: string, message: string];
  readonly calm: readonly [reason: string, message: string];
}[] = [
  {
    type: "MemoryPressure",
    met: ["KubeletHasInsufficientMemory", "the agent has insufficient memory available"],
    calm: ["KubeletHasSufficientMemory", "the agent has sufficient memory available"],
  },
  {
    type: "DiskPressure",
    met: ["KubeletHasDiskPressure", "the agent has disk pressure"],
    calm: ["KubeletHasNoDiskPressure", "the agent has no disk pressure"],
  },
  {
    type: "PIDPressure",
    met: ["KubeletHasInsufficientPID", "the agent has insufficient PID available"],
    calm: ["KubeletHasSufficientPID", "the agent has sufficient PID available"],
  },
];

/** For the node's status; reasons are the kubelet's. */
export function pressureConditions(
  current: ReadonlySet<PressureCondition>,
): readonly NodeCondition[] {
  return CONDITIONS.map(({ type, met, calm }) => {
    const isMet = current.has(type);
    const [reason, message] = isMet ? met : calm;
    return { type, status: isMet ? "True" : "False", reason, message };
  });
}
