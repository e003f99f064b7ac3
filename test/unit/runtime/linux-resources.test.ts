import { describe, expect, test } from "bun:test";
import type { ResourceRequirements } from "../../../src/api/pod.ts";
import type { QosClass } from "../../../src/api/qos.ts";
import {
  cpuQuota,
  cpuShares,
  linuxResources,
  oomScoreAdj,
} from "../../../src/runtime/linux-resources.ts";
import { aContainer } from "../../fakes/a-pod.ts";

const GiB = 1024 ** 3;

function resources(amounts: Partial<ResourceRequirements>, cgroupVersion: 1 | 2 = 1): unknown {
  const container = aContainer("a", { resources: { limits: {}, requests: {}, ...amounts } });
  return linuxResources(container, { qos: "Burstable", cgroupVersion, memoryBytes: 4 * GiB });
}

describe("linuxResources", () => {
  test("of a container that asks for nothing", () => {
    expect(resources({})).toEqual({
      cpuShares: 2n,
      cpuPeriod: 100_000n,
      cpuQuota: 0n,
      memoryLimitInBytes: 0n,
      oomScoreAdj: 999n,
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
    });
  });

  test("a CPU limit alone is the request too", () => {
    expect(resources({ limits: { cpu: "2" } })).toMatchObject({
      cpuShares: 2048n,
      cpuQuota: 200_000n,
    });
  });

  test("with cgroup version 2 a container is killed for memory as a whole", () => {
    expect(resources({}, 2)).toMatchObject({ unified: { "memory.oom.group": "1" } });
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
