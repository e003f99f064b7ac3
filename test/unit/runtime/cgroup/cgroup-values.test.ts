import { describe, expect, test } from "bun:test";
import { amountsOf } from "../../../../src/api/resource/pod-requests-limits.ts";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import type { CgroupValue } from "../../../../src/host/cgroups.ts";
import {
  allPodsValues,
  podCgroupValues,
  qosValues,
  reservedValues,
  type PodCgroupFacts,
} from "../../../../src/runtime/cgroup/cgroup-values.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import type { ResourceList } from "../../../../src/api/v1/resources.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

const facts: Omit<PodCgroupFacts, "version"> = {
  cpuCFSQuota: true,
  podPidsLimit: -1,
  hugePageSizes: [],
  protectsMemory: false,
};

/** `!` marks what must be enforced. */
function said(values: readonly CgroupValue[]): readonly string[] {
  return values.map(({ file, value, isLimit }) => `${file}=${value}${isLimit ? "!" : ""}`);
}

function limited(limits: ResourceList, more: Partial<Container> = {}): Container {
  return aContainer("a", { resources: { limits, requests: limits }, ...more });
}
function asking(requests: ResourceList): Container {
  return aContainer("a", { resources: { limits: {}, requests } });
}

interface Case {
  readonly spec: Partial<PodSpec>;
  readonly more?: Partial<PodCgroupFacts>;
  readonly v1: readonly string[];
  readonly v2: readonly string[];
}

const cases: Readonly<Record<string, Case>> = {
  "a pod that asks for nothing gets the least": {
    spec: {},
    v1: ["cpu.shares=2"],
    v2: ["cpu.weight=1"],
  },
  "a guaranteed pod is bound to what it asks for": {
    spec: { containers: [limited({ cpu: "1", memory: "64Mi" })] },
    v1: [
      "cpu.shares=1024",
      "cpu.cfs_period_us=100000!",
      "cpu.cfs_quota_us=100000!",
      "memory.limit_in_bytes=67108864!",
    ],
    v2: ["cpu.weight=39", "cpu.max=100000 100000!", "memory.max=67108864!"],
  },
  "limits of all containers add up": {
    spec: { containers: [limited({ cpu: "500m" }), limited({ cpu: "250m" })] },
    v1: ["cpu.shares=768", "cpu.cfs_period_us=100000!", "cpu.cfs_quota_us=75000!"],
    v2: ["cpu.weight=30", "cpu.max=75000 100000!"],
  },
  "one container without a limit leaves the pod without": {
    spec: { containers: [limited({ cpu: "500m", memory: "1Mi" }), asking({ cpu: "1" })] },
    v1: ["cpu.shares=1536"],
    v2: ["cpu.weight=59"],
  },
  "an init container without a limit as well": {
    spec: { initContainers: [aContainer("i")], containers: [limited({ memory: "1Mi" })] },
    v1: ["cpu.shares=2"],
    v2: ["cpu.weight=1"],
  },
  "a limit of the pod as a whole binds": {
    spec: {
      containers: [aContainer("a")],
      resources: { requests: { memory: "1Mi" }, limits: { memory: "2Mi" } },
    },
    v1: ["cpu.shares=2", "memory.limit_in_bytes=2097152!"],
    v2: ["cpu.weight=1", "memory.max=2097152!"],
  },
  "overhead lifts both": {
    spec: {
      containers: [limited({ cpu: "1", memory: "1Mi" })],
      overhead: { cpu: "1", memory: "1Mi" },
    },
    v1: [
      "cpu.shares=2048",
      "cpu.cfs_period_us=100000!",
      "cpu.cfs_quota_us=200000!",
      "memory.limit_in_bytes=2097152!",
    ],
    v2: ["cpu.weight=79", "cpu.max=200000 100000!", "memory.max=2097152!"],
  },
  "without quotas a CPU limit is none": {
    spec: { containers: [limited({ cpu: "1" })] },
    more: { cpuCFSQuota: false },
    v1: ["cpu.shares=1024"],
    v2: ["cpu.weight=39"],
  },
  "processes are limited for every pod": {
    spec: {},
    more: { podPidsLimit: 512 },
    v1: ["cpu.shares=2", "pids.max=512!"],
    v2: ["cpu.weight=1", "pids.max=512!"],
  },
  "huge pages are limited to what is asked for": {
    spec: { containers: [limited({ memory: "1Mi", "hugepages-2Mi": "4Mi" })] },
    more: { hugePageSizes: ["1Gi", "2Mi"] },
    v1: [
      "cpu.shares=2",
      "memory.limit_in_bytes=1048576!",
      "hugetlb.1GB.limit_in_bytes=0",
      "hugetlb.2MB.limit_in_bytes=4194304!",
    ],
    v2: ["cpu.weight=1", "memory.max=1048576!", "hugetlb.1GB.max=0", "hugetlb.2MB.max=4194304!"],
  },
  "huge pages that the kernel cannot limit are asked for all the same": {
    spec: { containers: [limited({ "hugepages-2Mi": "4Mi" })] },
    v1: ["cpu.shares=2", "hugetlb.2MB.limit_in_bytes=4194304!"],
    v2: ["cpu.weight=1", "hugetlb.2MB.max=4194304!"],
  },
};

describe("the cgroup of a pod", () => {
  test.each(Object.entries(cases))("%s", (_sentence, { spec, more, v1, v2 }) => {
    const pod = aPod(spec);
    const all = { ...facts, ...more };
    expect(said(podCgroupValues(pod.spec, { ...all, version: 1 }))).toEqual([...v1]);
    expect(said(podCgroupValues(pod.spec, { ...all, version: 2 }))).toEqual([...v2]);
  });
});

describe("the cgroups around pods", () => {
  const allocatable = amountsOf({ cpu: "4", memory: "1Gi", pid: "1000" });

  test("all pods share the processors with the rest of the node", () => {
    const node = { allocatable, isKept: () => false };
    expect(said(allPodsValues({ ...node, version: 1 }))).toEqual([
      "cpu.shares=4096",
      "memory.use_hierarchy=1",
      "memory.limit_in_bytes=-1",
      "pids.max=max",
    ]);
    expect(said(allPodsValues({ ...node, version: 2 }))).toEqual([
      "cpu.weight=157",
      "memory.max=max",
      "pids.max=max",
    ]);
  });

  test("what is reserved is kept from all of them", () => {
    const node = { allocatable, isKept: () => true };
    expect(said(allPodsValues({ ...node, version: 1 }))).toEqual([
      "cpu.shares=4096",
      "memory.use_hierarchy=1",
      "memory.limit_in_bytes=1073741824",
      "pids.max=1000",
    ]);
    expect(said(allPodsValues({ ...node, version: 2 }))).toEqual([
      "cpu.weight=157",
      "memory.max=1073741824",
      "pids.max=1000",
    ]);
  });

  test("MemoryQoS protects what pods request", () => {
    const memoryMin = 5_000n;
    const node = { allocatable, isKept: () => false, memoryMin };
    expect(said(allPodsValues({ ...node, version: 2 })).at(-1)).toBe("memory.min=5");
    const facts = { version: 2, cpuRequests: 0n, memoryMin } as const;
    expect(said(qosValues("Burstable", facts))).toEqual(["cpu.weight=1", "memory.min=5"]);
    expect(said(qosValues("BestEffort", facts))).toEqual(["cpu.weight=1"]);
  });

  test("burstable pods count as much as they ask for, best-effort ones least", () => {
    const cpuRequests = 1500n;
    expect(said(qosValues("Burstable", { version: 1, cpuRequests }))).toEqual(["cpu.shares=1536"]);
    expect(said(qosValues("BestEffort", { version: 1, cpuRequests }))).toEqual(["cpu.shares=2"]);
    expect(said(qosValues("BestEffort", { version: 2, cpuRequests }))).toEqual(["cpu.weight=1"]);
  });
});

describe("a cgroup of what is not a pod", () => {
  const reserved = amountsOf({
    cpu: "500m",
    memory: "1Mi",
    pid: "100",
    "ephemeral-storage": "1Gi",
  });

  test("is limited to its reserve", () => {
    const all = { onlyCpu: false, protectMemory: false };
    expect(said(reservedValues(1, reserved, all))).toEqual([
      "cpu.shares=512",
      "memory.limit_in_bytes=1048576",
      "pids.max=100",
    ]);
    expect(said(reservedValues(2, reserved, { ...all, protectMemory: true }))).toEqual([
      "cpu.weight=20",
      "memory.max=1048576",
      "pids.max=100",
      "memory.min=1048576",
    ]);
  });

  test("keeps what is not reserved as it is", () => {
    const options = { onlyCpu: false, protectMemory: true };
    expect(said(reservedValues(2, amountsOf({ pid: "7" }), options))).toEqual(["pids.max=7"]);
  });

  test("can be limited in CPU alone", () => {
    const options = { onlyCpu: true, protectMemory: true };
    expect(said(reservedValues(2, reserved, options))).toEqual(["cpu.weight=20"]);
  });
});
