// The kubelet's /stats/summary from plain readings.

import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ContainerStatsSchema } from "../../../src/cri/gen/runtime/v1/api_pb.ts";
import { CpuRates } from "../../../src/stats/cpu-rates.ts";
import { containerUsage } from "../../../src/stats/container-usage.ts";
import { summary, type SummaryFacts, type SummaryPod } from "../../../src/stats/summary.ts";

const NOW = Date.UTC(2026, 10, 23, 12);
const TIME = "2026-11-23T12:00:00Z";
const DISK = {
  device: "1",
  bytes: { capacity: 1000, available: 400 },
  inodes: { capacity: 100, available: 60 },
};
const MEMORY = {
  usageBytes: 50,
  workingSetBytes: 40,
  rssBytes: 30,
  pageFaults: 2,
  majorPageFaults: 1,
};
const WAITS = { total: 9, avg10: 1.5, avg60: 0.5, avg300: 0 };
const PRESSURE = { full: { ...WAITS, total: 4 }, some: WAITS };
const ETH = { name: "eth0", rxBytes: 1, rxErrors: 2, txBytes: 3, txErrors: 4 };

const POD: SummaryPod = {
  name: "web",
  namespace: "default",
  uid: "u-1",
  startedAt: NOW - 60_000,
  usage: {
    cpuNanoSeconds: 5_000,
    nanoCores: 70,
    memory: { ...MEMORY, limitBytes: 100 },
    swapBytes: 6,
    swapLimitBytes: 10,
    pids: 3,
    pressure: { cpu: PRESSURE, memory: PRESSURE, io: PRESSURE },
  },
  network: { default: ETH, interfaces: [ETH] },
  containers: [
    {
      name: "a",
      startedAt: NOW - 30_000,
      usage: { cpuNanoSeconds: 4_000, memory: MEMORY },
      disk: { layer: { bytes: 11, inodes: 2 }, logs: { bytes: 22, inodes: 3 } },
    },
  ],
  volumes: [
    { name: "cache", used: { bytes: 33, inodes: 4 }, isEphemeral: true, room: DISK },
    { name: "data", claim: "db", used: { bytes: 600, inodes: 40 }, isEphemeral: false, room: DISK },
    { name: "shm", used: { bytes: 44, inodes: 5 }, isEphemeral: false, room: DISK },
  ],
};
const FACTS: SummaryFacts = {
  nodeName: "pi-1",
  now: NOW,
  bootTime: NOW - 3_600_000,
  usage: { cpuNanoSeconds: 9_000, nanoCores: 80, memory: { ...MEMORY, usageBytes: 700 } },
  memory: { capacity: 2000, available: 1200 },
  swap: { capacity: 64, available: 60 },
  pids: { capacity: 500, available: 490 },
  network: { default: ETH, interfaces: [ETH] },
  nodefs: DISK,
  imagefs: { ...DISK, bytes: { capacity: 5000, available: 1 } },
  images: { bytes: 55, inodes: 6 },
  system: [{ name: "pods", usage: { cpuNanoSeconds: 8_000, memory: MEMORY } }],
  pods: [POD],
  isShort: false,
};
const shownMemory = { time: TIME, ...MEMORY };
const space = { time: TIME, availableBytes: 400, capacityBytes: 1000, inodesFree: 60, inodes: 100 };

test("the node", () => {
  const imageFs = {
    ...space,
    availableBytes: 1,
    capacityBytes: 5000,
    usedBytes: 55,
    inodesUsed: 6,
  };
  expect(summary(FACTS)).toMatchObject({
    node: {
      nodeName: "pi-1",
      startTime: "2026-11-23T11:00:00Z",
      cpu: { time: TIME, usageNanoCores: 80, usageCoreNanoSeconds: 9_000 },
      memory: { availableBytes: 1200, usageBytes: 700, workingSetBytes: 800, rssBytes: 30 },
      swap: { time: TIME, swapAvailableBytes: 60, swapUsageBytes: 4 },
      network: { time: TIME, ...ETH, interfaces: [ETH] },
      fs: { ...space, usedBytes: 600, inodesUsed: 40 },
      runtime: { imageFs, containerFs: imageFs },
      rlimit: { time: TIME, maxpid: 500, curproc: 10 },
      systemContainers: [
        { name: "pods", cpu: { time: TIME, usageCoreNanoSeconds: 8_000 }, memory: shownMemory },
      ],
    },
  });
});

test("a pod", () => {
  expect(summary(FACTS)["pods"]).toEqual([
    {
      podRef: { name: "web", namespace: "default", uid: "u-1" },
      startTime: "2026-11-23T11:59:00Z",
      cpu: { time: TIME, usageNanoCores: 70, usageCoreNanoSeconds: 5_000, psi: PRESSURE },
      memory: { ...shownMemory, availableBytes: 60, psi: PRESSURE },
      io: { time: TIME, psi: PRESSURE },
      swap: { time: TIME, swapAvailableBytes: 4, swapUsageBytes: 6 },
      network: { time: TIME, ...ETH, interfaces: [ETH] },
      volume: [
        { name: "cache", ...space, usedBytes: 33, inodesUsed: 4 },
        {
          name: "data",
          ...space,
          usedBytes: 600,
          inodesUsed: 40,
          pvcRef: { name: "db", namespace: "default" },
        },
        { name: "shm", ...space, usedBytes: 44, inodesUsed: 5 },
      ],
      "ephemeral-storage": { ...space, usedBytes: 66, inodesUsed: 9 },
      process_stats: { process_count: 3 },
      containers: [
        {
          name: "a",
          startTime: "2026-11-23T11:59:30Z",
          cpu: { time: TIME, usageCoreNanoSeconds: 4_000 },
          memory: shownMemory,
          rootfs: {
            ...space,
            availableBytes: 1,
            capacityBytes: 5000,
            usedBytes: 11,
            inodesUsed: 2,
          },
          logs: { ...space, usedBytes: 22, inodesUsed: 3 },
        },
      ],
    },
  ]);
});

test("only processor and memory", () => {
  const { node, pods } = summary({ ...FACTS, isShort: true });
  expect(Object.keys(node as object).toSorted()).toEqual([
    "cpu",
    "memory",
    "nodeName",
    "startTime",
    "swap",
    "systemContainers",
  ]);
  const [pod] = pods as readonly object[];
  expect(Object.keys(pod ?? {}).toSorted()).toEqual([
    "containers",
    "cpu",
    "memory",
    "podRef",
    "startTime",
    "swap",
  ]);
});

test("what nobody knows is absent", () => {
  const { bootTime, memory, swap, pids, network, nodefs, imagefs, images, ...known } = FACTS;
  const facts = {
    ...known,
    bootTime: undefined,
    memory: undefined,
    swap: undefined,
    pids: undefined,
    network: undefined,
    nodefs: undefined,
    imagefs: undefined,
    images: undefined,
    usage: {},
    system: [],
    pods: [],
  };
  expect(summary(facts)).toEqual({ node: { nodeName: "pi-1", systemContainers: [] }, pods: [] });
  expect([bootTime, memory, swap, pids, network, nodefs, imagefs, images]).not.toContain(undefined);
});

describe("a container", () => {
  const cgroup = { cpuNanoSeconds: 1_000, memory: MEMORY, pids: 2 };

  test("is as the runtime tells it", () => {
    const stats = create(ContainerStatsSchema, {
      cpu: { usageCoreNanoSeconds: { value: 2_000n }, usageNanoCores: { value: 9n } },
      memory: { workingSetBytes: { value: 77n }, rssBytes: { value: 66n } },
    });
    expect(containerUsage(stats, cgroup)).toEqual({
      cpuNanoSeconds: 2_000,
      nanoCores: 9,
      memory: { ...MEMORY, workingSetBytes: 77, rssBytes: 66 },
      pids: 2,
    });
  });

  test("is as its cgroup has it where the runtime tells nothing, or 0", () => {
    const stats = create(ContainerStatsSchema, { cpu: { usageNanoCores: { value: 0n } } });
    expect(containerUsage(stats, cgroup)).toEqual(cgroup);
    expect(containerUsage(undefined, cgroup)).toEqual(cgroup);
    expect(containerUsage(undefined, {})).toEqual({});
  });
});

describe("the rate of processor time", () => {
  const used = (cpuNanoSeconds: number) => ({ cpuNanoSeconds });

  test("needs two readings", () => {
    const rates = new CpuRates();
    expect(rates.of("a", used(1_000_000_000), 0).nanoCores).toBeUndefined();
    expect(rates.of("a", used(2_000_000_000), 2_000).nanoCores).toBe(500_000_000);
  });

  test("stays for those who ask again at once", () => {
    const rates = new CpuRates();
    rates.of("a", used(0), 0);
    rates.of("a", used(1_000_000_000), 1_000);
    expect(rates.of("a", used(1_000_000_001), 1_100).nanoCores).toBe(1_000_000_000);
  });

  test("begins anew with a cgroup of the same name", () => {
    const rates = new CpuRates();
    rates.of("a", used(5_000), 0);
    expect(rates.of("a", used(10), 1_000).nanoCores).toBeUndefined();
  });

  test("is forgotten with what it belongs to", () => {
    const rates = new CpuRates();
    rates.of("a", used(0), 0);
    rates.forgetUnread(600_001);
    expect(rates.of("a", used(10), 600_002).nanoCores).toBeUndefined();
  });

  test("of the runtime comes first", () => {
    const rates = new CpuRates();
    rates.of("a", used(0), 0);
    expect(rates.of("a", { cpuNanoSeconds: 10, nanoCores: 3 }, 1_000).nanoCores).toBe(3);
  });
});

test("a node whose root cgroup counts no memory has its waits for memory all the same", () => {
  const usage = { pressure: { memory: PRESSURE, io: PRESSURE } };
  expect(summary({ ...FACTS, usage })).toMatchObject({
    node: {
      memory: { time: TIME, usageBytes: 800, availableBytes: 1200, psi: PRESSURE },
      io: { time: TIME, psi: PRESSURE },
    },
  });
});
