// What the node shows at the moment of a scrape, as gauges: pods, containers, documents, the line to the broker.

import type { Labels, MetricFamily, Sample } from "../../lib/meter.ts";
import { isConditionTrue } from "../../api/pod/pod-summary.ts";
import { allStatuses, hasRunningContainer } from "../../api/v1/pod-status.ts";
import type { ServerFacts } from "../../node/node-api.ts";
import type { PodEntry } from "../../node/pod-list.ts";
import type { Ack } from "../../protocol/reported-state.ts";

export interface NodeMetricsFacts {
  readonly pods: readonly PodEntry[];
  readonly desired: readonly Ack[];
  readonly node: ReturnType<ServerFacts["node"]>;
  readonly version: string;
  readonly isHealthy: boolean;
  readonly link: ReturnType<ServerFacts["linkFacts"]>;
  readonly databaseBytes: ReturnType<ServerFacts["databaseBytes"]>;
}

export function nodeMetrics(facts: NodeMetricsFacts): readonly MetricFamily[] {
  const { pods, desired, node, version, isHealthy, link, databaseBytes } = facts;
  const conditions = node.status.conditions;
  return [
    gauge("kubelet_running_pods", "Pods with a running container.", [
      one(pods.filter(({ status }) => hasRunningContainer(status)).length),
    ]),
    gauge("kubelet_running_containers", "Containers, by their state.", containerStates(pods)),
    gauge(
      "kubelet_desired_pods",
      "Pods that the node is to run, by what declares them.",
      countBy(pods, ({ source }) => ({
        static: String(source === "file" || source === "http"),
      })),
    ),
    gauge("kubelet_node_name", "The name of the node.", [one(1, { node: node.name })]),
    gauge("kubernetes_build_info", "The version of the agent.", [one(1, { git_version: version })]),
    gauge("agent_healthy", "Whether /healthz is ok.", [one(Number(isHealthy))]),
    gauge(
      "agent_node_condition",
      "Conditions of the node: 1 where this status is the present one.",
      conditions.flatMap(({ type, status }) =>
        ["True", "False", "Unknown"].map((each) =>
          one(Number(each === status), { condition: type, status: each }),
        ),
      ),
    ),
    gauge("agent_clock_trusted", "Whether a time source has confirmed the clock.", [
      one(Number(!conditions.some((c) => c.type === "ClockUntrusted" && c.status === "True"))),
    ]),
    gauge(
      "agent_pod_ready",
      "Whether the pod is ready.",
      pods.map((entry) => one(Number(isConditionTrue(entry, "Ready")), podLabels(entry))),
    ),
    gauge(
      "agent_pod_container_restarts",
      "Restarts of each container in this life of its pod.",
      pods.flatMap((entry) =>
        allStatuses(entry.status).map(({ name, restartCount }) =>
          one(restartCount, { ...podLabels(entry), container: name }),
        ),
      ),
    ),
    gauge(
      "agent_desired_generation",
      "Generation of the newest accepted document.",
      desired.map(({ source, generation }) => one(generation, { source })),
    ),
    gauge(
      "agent_observed_generation",
      "Generation that has fully converged.",
      desired.map(({ source, observedGeneration }) => one(observedGeneration, { source })),
    ),
    gauge(
      "agent_desired_code",
      "Code of the acknowledgement of each document.",
      desired.map(({ source, code, phase }) => one(code, { source, phase })),
    ),
    ...linkMetrics(link),
    ...(databaseBytes === undefined
      ? []
      : [
          counter(
            "agent_database_written_bytes_total",
            "Bytes that the database has written to its files: its log and its checkpoints.",
            [one(databaseBytes)],
          ),
        ]),
    ...boardMetrics(node),
  ];
}

function linkMetrics(link: NodeMetricsFacts["link"]): readonly MetricFamily[] {
  if (link === undefined) return [];
  const bytes = Object.entries(link.bytes).flatMap(([purpose, { in: received, out: sent }]) => [
    one(received, { purpose, direction: "in" }),
    one(sent, { purpose, direction: "out" }),
  ]);
  return [
    gauge("agent_mqtt_connected", "Whether there is a session with the broker.", [
      one(Number(link.isConnected)),
    ]),
    counter("agent_mqtt_bytes_total", "Bytes of MQTT packets.", bytes),
    gauge("agent_outbox_messages", "Messages that wait for the broker.", [one(link.waiting)]),
    counter(
      "agent_outbox_dropped_total",
      "Messages that were dropped because too many waited for the broker, by kind.",
      Object.entries(link.dropped).map(([kind, count]) => one(count, { kind })),
    ),
  ];
}

function boardMetrics({ cpuCelsius }: NodeMetricsFacts["node"]): readonly MetricFamily[] {
  if (cpuCelsius === undefined) return [];
  return [gauge("agent_cpu_celsius", "Temperature of the CPU.", [one(cpuCelsius)])];
}

function counter(name: string, help: string, samples: readonly Sample[]): MetricFamily {
  return { name, help, type: "counter", samples };
}

export function gauge(name: string, help: string, samples: readonly Sample[]): MetricFamily {
  return { name, help, type: "gauge", samples };
}

export function one(value: number, labels: Labels = {}): Sample {
  return { suffix: "", labels, value };
}

function podLabels({ pod }: PodEntry): Labels {
  return { namespace: pod.metadata.namespace, pod: pod.metadata.name };
}

/** kubelet: created, running, exited, unknown. */
function containerStates(pods: readonly PodEntry[]): readonly Sample[] {
  const states = pods.flatMap(({ status }) =>
    allStatuses(status).map(({ state }) => {
      if (state.running !== undefined) return "running";
      return state.terminated === undefined ? "created" : "exited";
    }),
  );
  return countBy(states, (state) => ({ container_state: state }));
}

function countBy<T>(items: readonly T[], labels: (item: T) => Labels): readonly Sample[] {
  const counts = new Map<string, { readonly labels: Labels; count: number }>();
  for (const item of items) {
    const own = labels(item);
    const key = JSON.stringify(own);
    const found = counts.get(key) ?? { labels: own, count: 0 };
    found.count += 1;
    counts.set(key, found);
  }
  return [...counts.values()].map((found) => one(found.count, found.labels));
}
