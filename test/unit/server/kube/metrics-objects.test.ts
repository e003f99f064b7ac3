import { describe, expect, test } from "bun:test";
import { nodeMetrics, podMetrics } from "../../../../src/server/kube/metrics-objects.ts";

const TIME = "2026-01-01T00:01:40Z";
const START = "2026-01-01T00:00:00Z";
const used = (cpu: object) => ({
  startTime: START,
  cpu: { time: TIME, ...cpu },
  memory: { time: TIME, workingSetBytes: 2_097_152 },
});

describe("the metrics API", () => {
  test("of the node: the rate, and the working set", () => {
    const summary = { node: { nodeName: "n", ...used({ usageNanoCores: 5.4 }) } };
    expect(nodeMetrics(summary, { a: "b" })).toEqual([
      {
        kind: "NodeMetrics",
        apiVersion: "metrics.k8s.io/v1beta1",
        metadata: { name: "n", labels: { a: "b" }, creationTimestamp: TIME },
        timestamp: TIME,
        window: "10s",
        usage: { cpu: "5n", memory: "2048Ki" },
      },
    ]);
  });

  test("of a container without a rate yet: the average since its start", () => {
    const ref = { name: "web", namespace: "shop", uid: "u" };
    const container = { name: "a", ...used({ usageCoreNanoSeconds: 1e9 }) };
    const [pod] = podMetrics({ pods: [{ podRef: ref, containers: [container] }] }, []);
    expect(pod).toMatchObject({
      kind: "PodMetrics",
      metadata: { name: "web", namespace: "shop", labels: {} },
      containers: [{ name: "a", usage: { cpu: "10000000n", memory: "2048Ki" } }],
    });
  });

  test("of which nothing is known: nothing", () => {
    expect(nodeMetrics({}, {})).toEqual([]);
    const podRef = { name: "web", namespace: "shop", uid: "u" };
    expect(podMetrics({ pods: [{ podRef, containers: [{ name: "a" }] }] }, [])).toEqual([]);
  });
});
