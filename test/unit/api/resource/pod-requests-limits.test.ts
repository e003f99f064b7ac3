import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  podLimits,
  podRequests,
  type Amounts,
} from "../../../../src/api/resource/pod-requests-limits.ts";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import { parseQuantity } from "../../../../src/api/resource/quantity.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import type { ResourceList } from "../../../../src/api/v1/resources.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

let count = 0;
function asking(requests: ResourceList, more: Partial<Container> = {}): Container {
  count += 1;
  return aContainer(`c${count}`, { resources: { requests, limits: {} }, ...more });
}
const sidecar = (requests: ResourceList): Container =>
  asking(requests, { restartPolicy: "Always" });
const limited = (limits: ResourceList): Container =>
  aContainer("l", { resources: { requests: limits, limits } });

function amounts(list: ResourceList): Amounts {
  return new Map(
    Object.entries(list).map(([name, text = "0"]) => [name, parseQuantity(text) ?? 0n]),
  );
}

const requests: Readonly<
  Record<string, readonly [spec: Partial<PodSpec>, expected: ResourceList]>
> = {
  "a pod that asks for nothing": [{}, {}],
  "the containers run together": [
    { containers: [asking({ cpu: "1", memory: "1Gi" }), asking({ cpu: "500m" })] },
    { cpu: "1500m", memory: "1Gi" },
  ],
  "init containers run one after the other, and before": [
    {
      initContainers: [asking({ cpu: "2" }), asking({ memory: "2Gi" })],
      containers: [asking({ cpu: "1", memory: "1Gi" })],
    },
    { cpu: "2", memory: "2Gi" },
  ],
  "a sidecar runs beside the containers": [
    { initContainers: [sidecar({ cpu: "1" })], containers: [asking({ cpu: "1" })] },
    { cpu: "2" },
  ],
  "an init container runs beside the sidecars before it": [
    {
      initContainers: [sidecar({ cpu: "1" }), asking({ cpu: "3" }), sidecar({ cpu: "1" })],
      containers: [asking({ cpu: "1" })],
    },
    { cpu: "4" },
  ],
  "what the pod asks for as a whole counts instead": [
    {
      containers: [asking({ cpu: "1", memory: "1Gi", "ephemeral-storage": "1Gi" })],
      resources: { requests: { cpu: "3", "ephemeral-storage": "9Gi" }, limits: {} },
    },
    { cpu: "3", memory: "1Gi", "ephemeral-storage": "1Gi" },
  ],
  "overhead comes on top": [
    { containers: [asking({ cpu: "1" })], overhead: { cpu: "250m", memory: "64Mi" } },
    { cpu: "1250m", memory: "64Mi" },
  ],
};

describe("podRequests", () => {
  test.each(Object.entries(requests))("%s", (_sentence, [spec, expected]) => {
    expect(podRequests(aPod(spec).spec)).toEqual(amounts(expected));
  });

  test("is never less than what any one container asks for, nor more than all of them together", () => {
    const container = fc.record({ cpu: fc.integer({ min: 0, max: 4 }), isSidecar: fc.boolean() });
    const anyContainers = fc.array(container, { maxLength: 4 });
    fc.assert(
      fc.property(anyContainers, anyContainers, (inits, apps) => {
        const spec = aPod({
          initContainers: inits.map(({ cpu, isSidecar }) =>
            isSidecar ? sidecar({ cpu: String(cpu) }) : asking({ cpu: String(cpu) }),
          ),
          containers: apps.map(({ cpu }) => asking({ cpu: String(cpu) })),
        }).spec;
        const each = [...inits, ...apps].map(({ cpu }) => cpu);
        const cpu = Number(podRequests(spec).get("cpu") ?? 0n) / 1000;
        expect(cpu).toBeGreaterThanOrEqual(Math.max(0, ...each));
        expect(cpu).toBeLessThanOrEqual(each.reduce((sum, one) => sum + one, 0));
      }),
    );
  });
});

const limits: Readonly<
  Record<
    string,
    readonly [spec: Partial<PodSpec>, expected: ResourceList, declared: readonly string[]]
  >
> = {
  "of containers that all have both": [
    { containers: [limited({ cpu: "1", memory: "1Gi" }), limited({ cpu: "1", memory: "1Gi" })] },
    { cpu: "2", memory: "2Gi" },
    ["cpu", "memory"],
  ],
  "one container without a limit unbinds the sum": [
    { containers: [limited({ cpu: "1", memory: "1Gi" }), limited({ cpu: "1" })] },
    { cpu: "2", memory: "1Gi" },
    ["cpu"],
  ],
  "an init container without a limit as well": [
    { initContainers: [asking({})], containers: [limited({ cpu: "1" })] },
    { cpu: "1" },
    [],
  ],
  "a limit of the pod binds whatever its containers do": [
    { containers: [asking({})], resources: { limits: { memory: "1Gi" }, requests: {} } },
    { memory: "1Gi" },
    ["memory"],
  ],
  "overhead lifts a limit and makes none": [
    { containers: [limited({ cpu: "1" })], overhead: { cpu: "1", memory: "64Mi" } },
    { cpu: "2" },
    ["cpu"],
  ],
};

describe("podLimits", () => {
  test.each(Object.entries(limits))("%s", (_sentence, [spec, expected, declared]) => {
    const found = podLimits(aPod(spec).spec);
    expect(found.amounts).toEqual(amounts(expected));
    expect((["cpu", "memory"] as const).filter((name) => found.isDeclared(name))).toEqual([
      ...declared,
    ] as ("cpu" | "memory")[]);
  });
});
