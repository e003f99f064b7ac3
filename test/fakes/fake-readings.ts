// How much a fake node has left: plenty, unless a test takes some away.

import type {
  CgroupUse,
  FileSystemRoom,
  ResourceReadings,
  Room,
} from "../../src/host/resource-readings.ts";

export const GIB = 1024 ** 3;

export class FakeReadings implements ResourceReadings {
  memoryRoom: Room = { capacity: 4 * GIB, available: 3 * GIB };
  podsRoom: Room | undefined;
  pidRoom: Room = { capacity: 32_768, available: 32_000 };
  disk: FileSystemRoom = {
    device: "disk",
    bytes: { capacity: 32 * GIB, available: 24 * GIB },
    inodes: { capacity: 2_000_000, available: 1_900_000 },
  };
  stalls: number | undefined;
  /** Path → its file system, where it is not `disk`. */
  readonly others = new Map<string, FileSystemRoom>();
  looks = 0;

  memory(): Room {
    this.looks += 1;
    return this.memoryRoom;
  }

  podsMemory(): Room | undefined {
    return this.podsRoom;
  }

  pids(): Room {
    return this.pidRoom;
  }

  podUse(): CgroupUse {
    return { memoryBytes: undefined, pids: undefined };
  }

  fileSystem(path: string): FileSystemRoom {
    return this.others.get(path) ?? this.disk;
  }

  memoryStallMs(): number | undefined {
    return this.stalls;
  }
}
