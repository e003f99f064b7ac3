// What is left of a machine, read from trees that look like /proc and /sys, and from this machine.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { deviceOf, realReadings } from "../../../src/host/resource-readings.ts";

const KIB = 1024;
const roots: string[] = [];
afterAll(() => roots.forEach((root) => rmSync(root, { recursive: true, force: true })));

function machine(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "agent-readings-"));
  roots.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const MEMINFO =
  "MemTotal:        1000 kB\nMemFree:          200 kB\nActive(file):     30 kB\nInactive(file):   50 kB\n";
const V1 = "sys/fs/cgroup/memory";
const VERSION_1 = {
  "proc/cgroups": "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t1\t1\t1\npids\t2\t1\t1\n",
  "proc/meminfo": MEMINFO,
  [`${V1}/memory.usage_in_bytes`]: `${700 * KIB}\n`,
  [`${V1}/memory.stat`]: `inactive_file 1\ntotal_inactive_file ${100 * KIB}\n`,
  [`${V1}/kubepods/memory.usage_in_bytes`]: `${300 * KIB}\n`,
  [`${V1}/kubepods/memory.stat`]: `total_inactive_file ${50 * KIB}\n`,
  [`${V1}/kubepods/memory.limit_in_bytes`]: `${400 * KIB}\n`,
  [`${V1}/free/memory.usage_in_bytes`]: "1\n",
  [`${V1}/free/memory.limit_in_bytes`]: "9223372036854771712\n",
  "sys/fs/cgroup/pids/kubepods/pids.current": "7\n",
};
const VERSION_2 = {
  "proc/meminfo": MEMINFO,
  "sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
  "sys/fs/cgroup/kubepods/memory.current": `${300 * KIB}\n`,
  "sys/fs/cgroup/kubepods/memory.stat": `inactive_file ${50 * KIB}\n`,
  "sys/fs/cgroup/kubepods/memory.max": `${400 * KIB}\n`,
  "sys/fs/cgroup/kubepods/pids.current": "7\n",
  "sys/fs/cgroup/free/memory.current": "1\n",
  "sys/fs/cgroup/free/memory.max": "max\n",
};

describe("memory", () => {
  test("of version 1 is what its root does not use", () => {
    expect(realReadings(machine(VERSION_1)).memory()).toEqual({
      capacity: 1000 * KIB,
      available: 400 * KIB,
    });
  });

  test("of version 2, or without cgroups, is what is free, and file pages that were not used lately", () => {
    const expected = { capacity: 1000 * KIB, available: 250 * KIB };
    expect(realReadings(machine(VERSION_2)).memory()).toEqual(expected);
    expect(realReadings(machine({ "proc/meminfo": MEMINFO })).memory()).toEqual(expected);
    expect(realReadings(machine({})).memory()).toBeUndefined();
  });

  test.each([
    [1, VERSION_1],
    [2, VERSION_2],
  ])("of the pods in version %p is what is left below their limit", (_, files) => {
    const readings = realReadings(machine(files));
    expect(readings.podsMemory("kubepods")).toEqual({ capacity: 400 * KIB, available: 150 * KIB });
    expect(readings.podsMemory("free")).toBeUndefined();
    expect(readings.podsMemory("none")).toBeUndefined();
    expect(readings.podUse("kubepods")).toEqual({ memoryBytes: 250 * KIB, pids: 7 });
    expect(readings.podUse("none")).toEqual({ memoryBytes: undefined, pids: undefined });
  });
});

test("process ids are limited by the smaller of two settings", () => {
  const root = machine({
    "proc/sys/kernel/pid_max": "4194304\n",
    "proc/sys/kernel/threads-max": "1000\n",
    "proc/loadavg": "0.1 0.2 0.3 2/300 4711\n",
  });
  expect(realReadings(root).pids()).toEqual({ capacity: 1000, available: 700 });
  expect(realReadings(machine({})).pids()).toBeUndefined();
});

test("stalls are what PSI counts, where there is PSI", () => {
  const text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234567\nfull avg10=0 total=5\n";
  expect(realReadings(machine({ "proc/pressure/memory": text })).memoryStallMs()).toBe(1234.567);
  expect(realReadings(machine({})).memoryStallMs()).toBeUndefined();
});

test("subvolumes of one btrfs are one file system, other devices are not", () => {
  const [btrfs, ext4] = [0x9123683e, 0xef53];
  const device = (type: number, bytes: number, dev: number) => deviceOf({ type, bytes, dev });
  expect(device(btrfs, 1_000, 41)).toBe(device(btrfs, 1_000, 42));
  expect(device(btrfs, 1_000, 41)).not.toBe(device(btrfs, 2_000, 43));
  expect(device(ext4, 1_000, 41)).not.toBe(device(ext4, 1_000, 42));
  expect(device(ext4, 1_000, 41)).not.toBe(device(btrfs, 1_000, 41));
});

test("this machine has all of it, and a path that is gone has none", () => {
  const readings = realReadings();
  const disk = readings.fileSystem("/");
  for (const room of [readings.memory(), readings.pids(), disk?.bytes]) {
    expect(room?.capacity).toBeGreaterThan(0);
    expect(room?.available).toBeLessThanOrEqual(room?.capacity ?? 0);
  }
  expect(readings.fileSystem("/proc")?.device).not.toBe(disk?.device);
  expect(readings.fileSystem("/no/such/path")).toBeUndefined();
});
