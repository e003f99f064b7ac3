import { expect, test } from "bun:test";
import { linuxResources } from "../../../../src/runtime/cgroup/container-resources.ts";
import {
  hasMemoryQos,
  memoryQosFiles,
  type ContainerMemory,
} from "../../../../src/runtime/cgroup/memory-qos.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";

const MIB = 1024n ** 2n;
const none: ContainerMemory = {
  request: 0n,
  limit: 0n,
  allocatable: 1000n * MIB,
  throttlingFactor: 0.9,
};

const cases: Readonly<
  Record<string, readonly [Partial<ContainerMemory>, Readonly<Record<string, string>>]>
> = {
  "protects and slows down nothing without request and limit": [{}, {}],
  "slows down between request and limit": [
    { request: 100n * MIB, limit: 200n * MIB },
    { "memory.min": String(100n * MIB), "memory.high": String(190n * MIB) },
  ],
  "counts what the node has as the limit of a container without": [
    { request: 100n * MIB },
    { "memory.min": String(100n * MIB), "memory.high": String(910n * MIB) },
  ],
  "slows down whole pages": [{ limit: 10_000n, throttlingFactor: 0.5 }, { "memory.high": "4096" }],
  "slows nothing down whose request is its limit": [
    { request: MIB, limit: MIB },
    { "memory.min": String(MIB) },
  ],
  "slows nothing down within the same page": [
    { request: 4096n, limit: 4100n },
    { "memory.min": "4096" },
  ],
};

test.each(Object.entries(cases))("MemoryQoS %s", (_case, [memory, files]) => {
  expect(memoryQosFiles({ ...none, ...memory })).toEqual(files);
});

test("MemoryQoS needs its gate and version 2", () => {
  const gated = (isOn: boolean) => ({ featureGates: { MemoryQoS: isOn } });
  expect(hasMemoryQos(gated(true), 2)).toBe(true);
  expect([
    hasMemoryQos(gated(false), 2),
    hasMemoryQos(gated(true), 1),
    hasMemoryQos({ featureGates: {} }, 2),
  ]).toEqual([false, false, false]);
});

test("a container gets the files of MemoryQoS beside the others", () => {
  const resources = { requests: { memory: "1Mi" }, limits: { memory: "2Mi" } };
  const container = aContainer("a", { resources });
  const { spec } = aPod({ containers: [container] });
  const facts = { spec, cgroupVersion: 2, memoryBytes: 1024 ** 3, limitsSwap: true } as const;
  const memoryQos = { allocatable: 100n * MIB, throttlingFactor: 0.5 };
  const before = { "memory.oom.group": "1", "memory.swap.max": "0" };
  expect(linuxResources(container, facts).unified).toEqual(before);
  expect(linuxResources(container, { ...facts, memoryQos }).unified).toEqual({
    ...before,
    "memory.min": "1048576",
    "memory.high": "1572864",
  });
});
