import { describe, expect, test } from "bun:test";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import type { QosClass } from "../../../../src/api/resource/qos.ts";
import {
  cpuQuota,
  cpuShares,
  linuxResources,
  oomScoreAdj,
  type LinuxFacts,
} from "../../../../src/runtime/cgroup/container-resources.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import type { ResourceList } from "../../../../src/api/v1/resources.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

const GiB = 1024 ** 3;

interface Amounts {
  readonly limits?: ResourceList;
  readonly requests?: ResourceList;
}

function container(amounts: Amounts, more: Partial<Container> = {}): Container {
  return aContainer("a", { resources: { limits: {}, requests: {}, ...amounts }, ...more });
}

interface World extends Partial<Omit<LinuxFacts, "spec">> {
  readonly spec?: Partial<PodSpec>;
}

/** Of the first container of a Burstable pod. */
function resources(
  amounts: Amounts,
  { spec = {}, ...facts }: World = {},
): ReturnType<typeof linuxResources> {
  const one = container(amounts);
  const burstable = container({ requests: { cpu: "1m" } });
  const pod = aPod({ containers: [one, burstable], ...spec });
  return linuxResources(one, {
    spec: pod.spec,
    cgroupVersion: 1,
    memoryBytes: 4 * GiB,
    ...facts,
  });
}

describe("linuxResources", () => {
  test("of a container that asks for nothing", () => {
    expect(resources({})).toEqual({
      cpuShares: 2n,
      cpuPeriod: 100_000n,
      cpuQuota: 0n,
      memoryLimitInBytes: 0n,
      oomScoreAdj: 999n,
      hugepageLimits: [],
    });
  });

  test("of a container with requests and limits", () => {
    const requests = { cpu: "250m", memory: "1Gi" };
    expect(resources({ requests, limits: { cpu: "500m", memory: "2Gi" } })).toEqual({
      cpuShares: 256n,
      cpuPeriod: 100_000n,
      cpuQuota: 50_000n,
      memoryLimitInBytes: BigInt(2 * GiB),
      oomScoreAdj: 750n,
      hugepageLimits: [],
    });
  });

  test("a CPU limit alone is the request too", () => {
    expect(resources({ limits: { cpu: "2" } })).toMatchObject({
      cpuShares: 2048n,
      cpuQuota: 200_000n,
    });
  });

  test("a request of nothing beside a limit is what is written", () => {
    const amounts = { limits: { cpu: "2" }, requests: { cpu: "0" } };
    expect(resources(amounts)).toMatchObject({ cpuShares: 2n, cpuQuota: 200_000n });
  });

  test("without quotas a CPU limit limits nothing", () => {
    const { cpuPeriod, cpuQuota: quota } = resources(
      { limits: { cpu: "2" } },
      { cpuCFSQuota: false },
    );
    expect([cpuPeriod, quota]).toEqual([undefined, undefined]);
  });

  test("a limit of the whole pod binds each container that has none", () => {
    const spec = { resources: { limits: { cpu: "2", memory: "1Gi" }, requests: {} } };
    expect(resources({ limits: { cpu: "1" } }, { spec })).toMatchObject({
      cpuQuota: 100_000n,
      memoryLimitInBytes: BigInt(GiB),
    });
  });

  test("every size of huge pages gets a limit, of those not asked for none", () => {
    const limits = { "hugepages-2Mi": "64Mi" };
    expect(resources({ limits }, { hugePageSizes: ["2Mi", "1Gi", "64Ki"] })).toMatchObject({
      hugepageLimits: [
        { pageSize: "2MB", limit: 67_108_864n },
        { pageSize: "1GB", limit: 0n },
        { pageSize: "64KB", limit: 0n },
      ],
    });
  });

  const limits = { memory: "1Gi" };
  const swaps: [string, World, object][] = [
    [
      "version 1: memory and swap together are limited to the memory",
      { limitsSwap: true },
      { memorySwapLimitInBytes: BigInt(GiB) },
    ],
    ["version 1 where swap cannot be limited: no swap limit", {}, {}],
    [
      "version 2: no swap, and a container is killed as a whole",
      { cgroupVersion: 2, limitsSwap: true },
      { unified: { "memory.oom.group": "1", "memory.swap.max": "0" } },
    ],
    [
      "version 2 where swap cannot be limited: a container is killed as a whole",
      { cgroupVersion: 2 },
      { unified: { "memory.oom.group": "1" } },
    ],
  ];
  test.each(swaps)("cgroup %s", (_sentence, world, expected) => {
    const { memorySwapLimitInBytes, unified } = resources({ limits }, world);
    const said = {
      ...(memorySwapLimitInBytes === undefined ? {} : { memorySwapLimitInBytes }),
      ...(unified === undefined ? {} : { unified }),
    };
    expect(said).toEqual(expected as typeof said);
  });
});

describe("order of out-of-memory kills", () => {
  const score = (one: Container, spec: Partial<PodSpec>): bigint | undefined =>
    linuxResources(one, { spec: aPod(spec).spec, cgroupVersion: 1, memoryBytes: 4 * GiB })
      .oomScoreAdj;
  const app = (memory: string): Container => container({ requests: { memory } });
  const sidecar = (memory: string): Container =>
    container({ requests: { memory } }, { restartPolicy: "Always" });

  test("never one that the node itself needs", () => {
    const one = app("1Gi");
    const spec = { containers: [one], priorityClassName: "system-node-critical" };
    expect(score(one, spec)).toBe(-997n);
  });

  test("a sidecar not before the containers that it serves", () => {
    const [side, one, two] = [sidecar("1Mi"), app("2Gi"), app("1Gi")];
    const spec = { initContainers: [side], containers: [one, two] };
    expect([score(side, spec), score(one, spec), score(two, spec)]).toEqual([750n, 500n, 750n]);
  });

  test("a sidecar that asks for more is safer than they are", () => {
    const [side, one] = [sidecar("2Gi"), app("1Gi")];
    expect(score(side, { initContainers: [side], containers: [one] })).toBe(500n);
  });

  test("what the pod asks for beyond its containers counts for all alike", () => {
    const [one, two] = [app("1Gi"), container({})];
    const resourcesOfPod = { requests: { memory: "3Gi" }, limits: {} };
    const spec = { containers: [one, two], resources: resourcesOfPod };
    expect([score(one, spec), score(two, spec)]).toEqual([500n, 750n]);
  });
});

test.each([
  [0n, 2n],
  [1n, 2n],
  [100n, 102n],
  [1_000n, 1_024n],
  [300_000n, 262_144n],
])("%d thousandths of a CPU are %d shares", (milli, shares) => {
  expect(cpuShares(milli)).toBe(shares);
});

test.each([
  [0n, 0n],
  [1n, 1_000n],
  [10n, 1_000n],
  [11n, 1_100n],
  [1_500n, 150_000n],
])("a limit of %d thousandths of a CPU is %d µs in 100 ms", (milli, quota) => {
  expect(cpuQuota(milli)).toBe(quota);
});

const scores: [QosClass, bigint, bigint, bigint][] = [
  ["Guaranteed", 1n, 4n, -997n],
  ["BestEffort", 0n, 4n, 1_000n],
  ["Burstable", 0n, 4n, 999n],
  ["Burstable", 1n, 4n, 750n],
  ["Burstable", 4n, 4n, 3n],
  ["Burstable", 9n, 4n, 3n],
  ["Burstable", 1n, 0n, 999n],
];
test.each(scores)("%s asking for %d of %d bytes scores %d", (qos, request, memory, score) => {
  expect(oomScoreAdj(qos, request, memory)).toBe(score);
});
