// What each eviction signal measures, and what it means for the node. kubelet: signalToNodeCondition, signalToResource

import type { EvictionSignal } from "../config/eviction-config.ts";
import type { FileSystemRoom, Room } from "../host/resource-readings.ts";

export type PressureCondition = "MemoryPressure" | "DiskPressure" | "PIDPressure";

/** `allocatableMemory.available`: of the cgroup of all pods, where it has a limit; it has memory.available's hard threshold. */
export type Signal = EvictionSignal | "allocatableMemory.available";

/** What pods are ranked by. */
export type StarvedResource = "memory" | "ephemeral-storage" | "inodes" | "pids";

interface SignalFacts {
  readonly condition: PressureCondition;
  readonly resource: StarvedResource;
  /** Which file system; absent = none. */
  readonly fileSystem?: "nodefs" | "imagefs";
}

const NODE_FS = { condition: "DiskPressure", fileSystem: "nodefs" } as const;
const IMAGE_FS = { condition: "DiskPressure", fileSystem: "imagefs" } as const;
const MEMORY = { condition: "MemoryPressure", resource: "memory" } as const;

export const SIGNALS: Readonly<Record<Signal, SignalFacts>> = {
  "memory.available": MEMORY,
  "allocatableMemory.available": MEMORY,
  "nodefs.available": { ...NODE_FS, resource: "ephemeral-storage" },
  "nodefs.inodesFree": { ...NODE_FS, resource: "inodes" },
  "imagefs.available": { ...IMAGE_FS, resource: "ephemeral-storage" },
  "imagefs.inodesFree": { ...IMAGE_FS, resource: "inodes" },
  // Writable layers lie beside the images: containerd has one directory for both.
  "containerfs.available": { ...IMAGE_FS, resource: "ephemeral-storage" },
  "containerfs.inodesFree": { ...IMAGE_FS, resource: "inodes" },
  "pid.available": { condition: "PIDPressure", resource: "pids" },
};

/** In the order in which they are relieved: memory first, since its lack harms soonest. kubelet: byEvictionPriority */
export const ALL_SIGNALS: readonly Signal[] = [
  "memory.available",
  "allocatableMemory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "containerfs.available",
  "containerfs.inodesFree",
  "pid.available",
];

export interface NodeReading {
  readonly memory: Room | undefined;
  readonly podsMemory: Room | undefined;
  readonly pids: Room | undefined;
  readonly nodefs: FileSystemRoom | undefined;
  /** undefined = the runtime has not named its file system yet. */
  readonly imagefs: FileSystemRoom | undefined;
}

/** A signal that could not be read is absent. */
export type Observations = ReadonlyMap<Signal, Room>;

export function observations(reading: NodeReading): Observations {
  const { memory, podsMemory, pids, nodefs, imagefs } = reading;
  const all: Readonly<Record<Signal, Room | undefined>> = {
    "memory.available": memory,
    "allocatableMemory.available": podsMemory,
    "nodefs.available": nodefs?.bytes,
    "nodefs.inodesFree": nodefs?.inodes,
    "imagefs.available": imagefs?.bytes,
    "imagefs.inodesFree": imagefs?.inodes,
    "containerfs.available": imagefs?.bytes,
    "containerfs.inodesFree": imagefs?.inodes,
    "pid.available": pids,
  };
  return new Map(
    ALL_SIGNALS.flatMap((signal) => {
      const room = all[signal];
      return room === undefined ? [] : [[signal, room] as const];
    }),
  );
}
