import { describe, expect, test } from "bun:test";
import { nodeRows, podRows } from "../../../src/cli/top/top-rows.ts";

const used = (name: string, cpu: string, memory: string) => ({ name, usage: { cpu, memory } });
const PODS = [
  {
    metadata: { name: "web", namespace: "shop" },
    containers: [used("a", "1500000n", "2048Ki"), used("b", "500000n", "3Mi")],
  },
  { metadata: { name: "db", namespace: "shop" }, containers: [used("a", "2", "1Gi")] },
];

describe("the rows of pods", () => {
  test("are the sums of their containers, by name", () => {
    expect(podRows(PODS, "", {})).toEqual([
      ["NAME", "CPU(cores)", "MEMORY(bytes)"],
      ["db", "2000m", "1024Mi"],
      ["web", "3m", "5Mi"],
    ]);
  });

  test("of each container, with namespaces, the highest first", () => {
    const options = { containers: true, allNamespaces: true, sortBy: "memory" } as const;
    expect(podRows(PODS, "web", options)).toEqual([
      ["NAMESPACE", "POD", "NAME", "CPU(cores)", "MEMORY(bytes)"],
      ["shop", "web", "b", "1m", "3Mi"],
      ["shop", "web", "a", "2m", "2Mi"],
    ]);
  });
});

test("the row of the node has the shares of what pods may use", () => {
  const node = { metadata: { name: "n" }, status: { allocatable: { cpu: "4", memory: "1Gi" } } };
  const metrics = { metadata: { name: "n" }, ...used("", "1", "256Mi") };
  expect(nodeRows([metrics], [node])[1]).toEqual(["n", "1000m", "25%", "256Mi", "25%"]);
  expect(nodeRows([metrics], [])[1]).toEqual(["n", "1000m", "<unknown>", "256Mi", "<unknown>"]);
});
