// What node, pods and containers use, under the names of the kubelet's /metrics/resource, from the statistics of
// /stats/summary. kubelet: pkg/kubelet/metrics/collectors/resource_metrics.go

import type { MetricFamily, Sample } from "../../lib/meter.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { gauge, one } from "./node-metrics.ts";

const NANO = 1e9;

interface Found {
  readonly [metric: string]: Sample[];
}

/** `summary` undefined = it could not be read. */
export function resourceMetrics(summary: JsonObject | undefined): readonly MetricFamily[] {
  const found: Found = {
    node_cpu_usage_seconds_total: [],
    node_memory_working_set_bytes: [],
    pod_cpu_usage_seconds_total: [],
    pod_memory_working_set_bytes: [],
    container_cpu_usage_seconds_total: [],
    container_memory_working_set_bytes: [],
    container_swap_usage_bytes: [],
    container_start_time_seconds: [],
  };
  take(found, "node", memberOf(summary, "node"), {});
  for (const pod of listOf(summary, "pods")) {
    const ref = memberOf(pod, "podRef");
    const labels = { namespace: textOf(ref, "namespace"), pod: textOf(ref, "name") };
    take(found, "pod", pod, labels);
    for (const container of listOf(pod, "containers"))
      take(found, "container", container, {
        container: textOf(container, "name"),
        ...labels,
      });
  }
  const failed = one(Number(summary === undefined));
  return [
    ...Object.entries(found).map(([name, samples]): MetricFamily => {
      const type = name.endsWith("_total") ? "counter" : "gauge";
      return { name, help: HELP[name] ?? name, type, samples };
    }),
    gauge("resource_scrape_error", "1 if the statistics could not be read.", [failed]),
  ];
}

const HELP: Readonly<Record<string, string>> = {
  node_cpu_usage_seconds_total: "Seconds of processor time that the node used.",
  node_memory_working_set_bytes: "Working set of the node.",
  pod_cpu_usage_seconds_total: "Seconds of processor time that the pod used.",
  pod_memory_working_set_bytes: "Working set of the pod.",
  container_cpu_usage_seconds_total: "Seconds of processor time that the container used.",
  container_memory_working_set_bytes: "Working set of the container.",
  container_swap_usage_bytes: "Swap that the container uses.",
  container_start_time_seconds: "Start of the container, in seconds since 1970.",
};

function take(
  found: Found,
  prefix: "node" | "pod" | "container",
  of: JsonObject | undefined,
  labels: Readonly<Record<string, string>>,
): void {
  const add = (metric: string, value: number | undefined): void => {
    if (value !== undefined) found[`${prefix}_${metric}`]?.push(one(value, labels));
  };
  const cpu = numberOf(memberOf(of, "cpu"), "usageCoreNanoSeconds");
  add("cpu_usage_seconds_total", cpu === undefined ? undefined : cpu / NANO);
  add("memory_working_set_bytes", numberOf(memberOf(of, "memory"), "workingSetBytes"));
  add("swap_usage_bytes", numberOf(memberOf(of, "swap"), "swapUsageBytes"));
  const start = Date.parse(textOf(of, "startTime"));
  add("start_time_seconds", Number.isNaN(start) ? undefined : start / 1000);
}

function memberOf(of: JsonObject | undefined, name: string): JsonObject | undefined {
  const member = of?.[name];
  return isJsonObject(member) ? member : undefined;
}

function listOf(of: JsonObject | undefined, name: string): readonly JsonObject[] {
  const member = of?.[name];
  return Array.isArray(member) ? member.filter(isJsonObject) : [];
}

function numberOf(of: JsonObject | undefined, name: string): number | undefined {
  const member = of?.[name];
  return typeof member === "number" ? member : undefined;
}

function textOf(of: JsonObject | undefined, name: string): string {
  const member = of?.[name];
  return typeof member === "string" ? member : "";
}
