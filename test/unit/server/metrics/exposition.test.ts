import { describe, expect, test } from "bun:test";
import { CONFIG_DEFAULTS } from "../../../fakes/config-defaults.ts";
import { Meter } from "../../../../src/lib/meter.ts";
import { expositionOf } from "../../../../src/server/metrics/exposition.ts";
import { resourceMetrics } from "../../../../src/server/metrics/resource-metrics.ts";
import { askLocalApi } from "../../../fakes/ask-local-api.ts";
import { someFacts } from "../some-facts.ts";

describe("the text format", () => {
  test("has a counter once for each set of labels", () => {
    const meter = new Meter();
    const labels = { operation_type: "status" };
    meter.count("kubelet_runtime_operations_total", labels);
    meter.count("kubelet_runtime_operations_total", labels);
    meter.count("kubelet_runtime_operations_total", { operation_type: 'a"b\\c\nd' });
    expect(expositionOf(meter.families())).toBe(
      [
        "# HELP kubelet_runtime_operations_total Calls of the container runtime, by operation.",
        "# TYPE kubelet_runtime_operations_total counter",
        'kubelet_runtime_operations_total{operation_type="status"} 2',
        'kubelet_runtime_operations_total{operation_type="a\\"b\\\\c\\nd"} 1',
        "",
      ].join("\n"),
    );
  });

  test("has a histogram with buckets that add up", () => {
    const meter = new Meter();
    for (const seconds of [0.001, 0.02, 0.02, 100])
      meter.observe("kubelet_pleg_relist_duration_seconds", seconds);
    const text = expositionOf(meter.families());
    expect(text).toContain('kubelet_pleg_relist_duration_seconds_bucket{le="0.005"} 1\n');
    expect(text).toContain('kubelet_pleg_relist_duration_seconds_bucket{le="0.025"} 3\n');
    expect(text).toContain('kubelet_pleg_relist_duration_seconds_bucket{le="10"} 3\n');
    expect(text).toContain('kubelet_pleg_relist_duration_seconds_bucket{le="+Inf"} 4\n');
    expect(text).toContain("kubelet_pleg_relist_duration_seconds_count 4\n");
  });

  test("grows no further than its bound, whatever the labels", () => {
    const meter = new Meter();
    for (let pod = 0; pod < 5_000; pod += 1)
      meter.count("prober_probe_total", { pod: String(pod) });
    expect(meter.families()[0]?.samples).toHaveLength(2_000);
    meter.forget("prober_probe_total", { pod: "7" });
    expect(meter.families()[0]?.samples).toHaveLength(1_999);
  });
});

test("/metrics/resource has the kubelet's names", () => {
  const usage = { cpu: { usageCoreNanoSeconds: 2.5e9 }, memory: { workingSetBytes: 1024 } };
  const container = { name: "main", startTime: "1970-01-01T00:01:00Z", ...usage };
  const pod = { podRef: { name: "web", namespace: "shop" }, containers: [container], ...usage };
  expect(expositionOf(resourceMetrics({ node: usage, pods: [pod] })).split("\n")).toEqual(
    expect.arrayContaining([
      "node_cpu_usage_seconds_total 2.5",
      'pod_memory_working_set_bytes{namespace="shop",pod="web"} 1024',
      'container_cpu_usage_seconds_total{container="main",namespace="shop",pod="web"} 2.5',
      'container_start_time_seconds{container="main",namespace="shop",pod="web"} 60',
      "resource_scrape_error 0",
    ]) as string[],
  );
  expect(expositionOf(resourceMetrics(undefined))).toContain("resource_scrape_error 1\n");
});

test("/metrics has the line to the broker, what the outbox dropped, and what the database wrote", async () => {
  const facts = someFacts({
    linkFacts: () => ({
      isConnected: true,
      bytes: { state: { in: 1, out: 2 } },
      waiting: 3,
      dropped: { event_normal: 4, event_warning: 0, response: 5 },
    }),
    databaseBytes: () => 4096,
  });
  const text = await (await askLocalApi(facts, "/metrics")).text();
  expect(text.split("\n")).toEqual(
    expect.arrayContaining([
      "agent_mqtt_connected 1",
      'agent_mqtt_bytes_total{purpose="state",direction="out"} 2',
      "agent_outbox_messages 3",
      "# TYPE agent_outbox_dropped_total counter",
      'agent_outbox_dropped_total{kind="event_normal"} 4',
      'agent_outbox_dropped_total{kind="event_warning"} 0',
      "# TYPE agent_database_written_bytes_total counter",
      "agent_database_written_bytes_total 4096",
    ]) as string[],
  );
});

describe("the paths of the kubelet", () => {
  test.each([
    ["/healthz/ping", 200],
    ["/healthz/pleg", 503],
    ["/healthz/syncloop", 200],
    ["/healthz/runtime", 200],
    ["/healthz/other", 404],
    ["/runningpods/", 200],
    ["/configz", 200],
    ["/metrics", 200],
    ["/metrics/probes", 200],
  ])("%s is %i", async (path, status) => {
    const facts = someFacts({ healthProblems: () => ["pleg: the last list is 200 s old"] });
    expect((await askLocalApi(facts, path)).status).toBe(status);
  });

  test("/configz has no header values: a read-only user may ask for it", async () => {
    const staticPodURLHeader = { Authorization: ["Bearer s3cret"] };
    const facts = someFacts({ config: () => ({ ...CONFIG_DEFAULTS, staticPodURLHeader }) });
    const text = await (await askLocalApi(facts, "/configz")).text();
    expect(text).toContain('"staticPodURLHeader":{"Authorization":["<hidden>"]}');
    expect(text).not.toContain("s3cret");
  });
});
