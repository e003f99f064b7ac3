import { expect, test } from "bun:test";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import type { ResourceList } from "../../../../src/api/v1/resources.ts";
import type { Container } from "../../../../src/api/v1/container.ts";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import { sandboxResources } from "../../../../src/runtime/cgroup/container-resources.ts";

const wanting = (requests: ResourceList, limits: ResourceList): Container =>
  aContainer("a", { resources: { requests, limits } });

function of(spec: Partial<PodSpec>, cpuCFSQuota = true): ReturnType<typeof sandboxResources> {
  return sandboxResources(aPod(spec).spec, cpuCFSQuota);
}

test("a pod that asks for nothing", () => {
  expect(of({})).toEqual({
    resources: { cpuShares: 2n, memoryLimitInBytes: 0n, cpuPeriod: 100_000n, cpuQuota: 0n },
    overhead: {},
  });
});

test("the sum of its containers, and apart from them what the sandbox costs", () => {
  const containers = [
    wanting({ cpu: "500m" }, { cpu: "1", memory: "64Mi" }),
    wanting({ cpu: "500m" }, { cpu: "1", memory: "64Mi" }),
  ];
  expect(of({ containers, overhead: { cpu: "250m", memory: "32Mi" } })).toEqual({
    resources: {
      cpuShares: 1_024n,
      memoryLimitInBytes: 134_217_728n,
      cpuPeriod: 100_000n,
      cpuQuota: 200_000n,
    },
    overhead: {
      cpuShares: 256n,
      memoryLimitInBytes: 33_554_432n,
      cpuPeriod: 100_000n,
      cpuQuota: 25_000n,
    },
  });
});

test("no quota where CPU limits are none", () => {
  const containers = [wanting({}, { cpu: "1" })];
  expect(of({ containers }, false).resources).toEqual({
    cpuShares: 1_024n,
    memoryLimitInBytes: 0n,
  });
});
