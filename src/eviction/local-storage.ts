// Whether a pod has more on disk than it may: sizeLimit of an emptyDir, limits of ephemeral-storage. kubelet:
// localStorageEviction

import { amountIn, podLimits } from "../api/resource/pod-requests-limits.ts";
import { quantityText, wholeUnits } from "../api/resource/quantity.ts";
import { allContainers, type Pod } from "../api/v1/pod.ts";
import type { Volume } from "../api/v1/volumes.ts";
import { containerDisk, diskOf, type PodUsage } from "../stats/pod-usage.ts";
import { containerStorageMessage, emptyDirMessage, podStorageMessage } from "./eviction-message.ts";

const RESOURCE = "ephemeral-storage";

/** Pods without any limit are never measured. */
export function limitsStorage(pod: Pod): boolean {
  const { volumes } = pod.spec;
  return (
    (podLimits(pod.spec).amounts.get(RESOURCE) ?? 0n) > 0n ||
    volumes.some((volume) => sizeLimitOf(volume) !== undefined)
  );
}

/** kubelet: signalEmptyDirFsLimit, signalEphemeralPodFsLimit, signalEphemeralContainerFsLimit */
export const STORAGE_SIGNALS = [
  "emptydirfs.limit",
  "ephemeralpodfs.limit",
  "ephemeralcontainerfs.limit",
] as const;

export interface StorageExcess {
  readonly signal: (typeof STORAGE_SIGNALS)[number];
  readonly message: string;
}

/** Why the pod is to be evicted; undefined = it keeps its limits. */
export function storageExcess(pod: Pod, usage: PodUsage): StorageExcess | undefined {
  const [signal, message] =
    [
      ["emptydirfs.limit", emptyDirExcess(pod, usage)] as const,
      ["ephemeralpodfs.limit", podExcess(pod, usage)] as const,
      ["ephemeralcontainerfs.limit", containerExcess(pod, usage)] as const,
    ].find(([, found]) => found !== undefined) ?? [];
  return signal === undefined || message === undefined ? undefined : { signal, message };
}

function emptyDirExcess({ spec }: Pod, { emptyDirs }: PodUsage): string | undefined {
  for (const volume of spec.volumes) {
    const written = sizeLimitOf(volume);
    if (written === undefined) continue;
    const limit = wholeUnits(amountIn({ [RESOURCE]: written }, RESOURCE));
    if (BigInt(emptyDirs.get(volume.name)?.bytes ?? 0) > limit)
      return emptyDirMessage(volume.name, written);
  }
  return undefined;
}

/** Of one on disk: the kernel itself limits those in memory. */
function sizeLimitOf(volume: Volume): string | undefined {
  if (!("emptyDir" in volume) || volume.emptyDir.medium !== "") return undefined;
  return volume.emptyDir.sizeLimit;
}

function podExcess({ spec }: Pod, usage: PodUsage): string | undefined {
  const limit = podLimits(spec).amounts.get(RESOURCE) ?? 0n;
  if (limit === 0n) return undefined;
  const used = BigInt(diskOf(usage, { layers: true, local: true }).bytes);
  return used > wholeUnits(limit) ? podStorageMessage(quantityText(limit, "Binary")) : undefined;
}

function containerExcess({ spec }: Pod, { containers }: PodUsage): string | undefined {
  for (const { name, resources } of allContainers(spec)) {
    const limit = amountIn(resources.limits, RESOURCE);
    const own = containers.find((one) => one.name === name);
    if (limit === 0n || own === undefined) continue;
    if (BigInt(containerDisk(own).bytes) > wholeUnits(limit))
      return containerStorageMessage(name, quantityText(limit, "Binary"));
  }
  return undefined;
}
