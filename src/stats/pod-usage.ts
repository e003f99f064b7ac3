// What a pod uses of the node, from the runtime's statistics and the sizes of its directories. kubelet: summary API, PodStats

import type { TreeUsage } from "../host/tree/walk-tree.ts";

export interface ContainerUsage {
  readonly name: string;
  /** What the kernel cannot drop without harm; undefined = unknown. */
  readonly memoryBytes: number | undefined;
  readonly writableLayer: TreeUsage;
  readonly logs: TreeUsage;
}

export interface PodUsage {
  readonly containers: readonly ContainerUsage[];
  /** emptyDirs on disk, by volume. */
  readonly emptyDirs: ReadonlyMap<string, TreeUsage>;
  /** Of the pod's cgroup, where the runtime tells nothing; undefined = unknown. */
  readonly cgroupMemoryBytes: number | undefined;
  /** undefined = unknown. */
  readonly pids: number | undefined;
}

export const NO_USAGE: TreeUsage = { bytes: 0, inodes: 0 };

/** undefined = of no container is anything known. */
export function memoryOf({ containers, cgroupMemoryBytes }: PodUsage): number | undefined {
  const known = containers.flatMap(({ memoryBytes }) => memoryBytes ?? []);
  return known.length === 0 ? cgroupMemoryBytes : known.reduce((sum, bytes) => sum + bytes, 0);
}

/** Which part of what a pod has on disk counts: by the file system that it lies on. */
export interface DiskParts {
  readonly layers: boolean;
  readonly local: boolean;
}

export function diskOf({ containers, emptyDirs }: PodUsage, parts: DiskParts): TreeUsage {
  const layers = parts.layers ? containers.map(({ writableLayer }) => writableLayer) : [];
  const local = parts.local ? [...containers.map(({ logs }) => logs), ...emptyDirs.values()] : [];
  return sum([...layers, ...local]);
}

/** What counts against a container's own limit of ephemeral-storage. */
export function containerDisk({ writableLayer, logs }: ContainerUsage): TreeUsage {
  return sum([writableLayer, logs]);
}

function sum(parts: readonly TreeUsage[]): TreeUsage {
  return parts.reduce(
    (total, { bytes, inodes }) => ({ bytes: total.bytes + bytes, inodes: total.inodes + inodes }),
    NO_USAGE,
  );
}
