import { describe, expect, test } from "bun:test";
import {
  allocatableAmounts,
  nodeAllocatable,
  nodeCapacity,
  type NodeResources,
} from "../../../../src/api/resource/node-resources.ts";

const MiB = 1024 ** 2;
const node: NodeResources = {
  cpus: 4,
  memoryBytes: 4_000_000_500,
  hugePages: { "2Mi": 64 * MiB, "1Gi": 0 },
  storageBytes: 32_000 * MiB,
  maxPods: 110,
};
const NOTHING = { systemReserved: {}, kubeReserved: {} };

describe("a node's resources", () => {
  test("capacity as Kubernetes writes it", () => {
    expect(nodeCapacity(node)).toEqual({
      cpu: "4",
      memory: "3906250Ki",
      "ephemeral-storage": "32768000Ki",
      "hugepages-2Mi": "64Mi",
      "hugepages-1Gi": "0",
      pods: "110",
    });
  });

  test("what is set aside as huge pages is no memory any more", () => {
    expect(nodeAllocatable(node, NOTHING)).toEqual({
      cpu: "4",
      memory: "3840714Ki",
      "ephemeral-storage": "32768000Ki",
      "hugepages-2Mi": "64Mi",
      "hugepages-1Gi": "0",
      pods: "110",
    });
  });

  test("both reserves are kept from pods", () => {
    const reserves = {
      systemReserved: { cpu: "500m", memory: "256Mi" },
      kubeReserved: { cpu: "250m", "ephemeral-storage": "1000Mi" },
    };
    expect(nodeAllocatable(node, reserves)).toMatchObject({
      cpu: "3250m",
      memory: "3578570Ki",
      "ephemeral-storage": "31744000Ki",
    });
  });

  test("more reserved than there is leaves nothing", () => {
    const reserves = { systemReserved: { cpu: "5", memory: "1Ti" }, kubeReserved: {} };
    expect(nodeAllocatable(node, reserves)).toMatchObject({ cpu: "0", memory: "0Ki" });
    expect(allocatableAmounts(node, reserves).get("cpu")).toBe(0n);
  });

  test("a disk that cannot be measured is not counted", () => {
    const { storageBytes: _, ...rest } = node;
    expect(Object.keys(nodeCapacity(rest))).not.toContain("ephemeral-storage");
  });
});
