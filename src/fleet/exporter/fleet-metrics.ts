// The metrics of a fleet, from what its nodes have reported: counts of nodes, so that their number does not grow with the fleet.

import type { Labels, MetricFamily, Sample } from "../../lib/meter.ts";
import type { KnownNode } from "../known-nodes.ts";

/** Values of a label that nodes choose; what is beyond counts as `other`. */
export const MAX_LABEL_VALUES = 100;
const OTHER = "other";
/** Longer words of a node are cut. */
export const MAX_LABEL_LENGTH = 64;
/** Seconds. */
const AGES = [60, 300, 900, 3_600, 21_600, 86_400, 604_800];
const SECOND_MS = 1_000;

export interface FleetFacts {
  readonly nodes: readonly KnownNode[];
  readonly isConnected: boolean;
  /** Wall-clock ms. */
  readonly now: number;
  /** Also two series for each node. */
  readonly perNode: boolean;
}

export function fleetMetrics(facts: FleetFacts): readonly MetricFamily[] {
  const { nodes, isConnected } = facts;
  const connected = gauge(
    "agent_fleet_broker_connected",
    "1 while the exporter is connected to the broker; without it there is nothing else.",
    [sample({}, isConnected ? 1 : 0)],
  );
  if (!isConnected) return [connected];
  const documents = nodes.flatMap(({ report }) => report?.desired ?? []);
  const pods = nodes.flatMap(({ report }) => report?.pods ?? []);
  return [
    connected,
    counted("agent_fleet_nodes", "Nodes by their state.", {
      labels: ["state"],
      rows: nodes.map(({ state }) => [state?.state ?? "unknown"]),
    }),
    counted("agent_fleet_nodes_ready", "Nodes by the status of their condition Ready.", {
      labels: ["status"],
      rows: nodes.map(({ report }) => [
        report === undefined || report.ready === "" ? "Unknown" : report.ready,
      ]),
    }),
    counted("agent_fleet_agent_versions", "Nodes by the version of their agent.", {
      labels: ["version"],
      rows: nodes.map(({ state }) => [state?.agent ?? "unknown"]),
    }),
    counted("agent_fleet_node_conditions", "Nodes by each condition that is true, besides Ready.", {
      labels: ["condition"],
      rows: nodes.flatMap(({ report }) => (report?.troubles ?? []).map((one) => [one])),
    }),
    counted("agent_fleet_documents", "Nodes by source, phase and code of each document.", {
      labels: ["source", "phase", "code"],
      rows: documents.map(({ source, phase, code }) => [source, phase, `${code}`]),
    }),
    counted(
      "agent_fleet_document_generations",
      "Nodes by source and generation of each document.",
      {
        labels: ["source", "generation"],
        rows: documents.map(({ source, generation }) => [source, `${generation}`]),
      },
    ),
    counted(
      "agent_fleet_documents_rejected",
      "Nodes whose newest document was refused, by source and code.",
      {
        labels: ["source", "code"],
        rows: documents.flatMap(({ source, lastRejected }) =>
          lastRejected === undefined ? [] : [[source, `${lastRejected.code}`]],
        ),
      },
    ),
    counted("agent_fleet_pods", "Pods by phase and reason, as reported last.", {
      labels: ["phase", "reason"],
      rows: pods.map(({ phase, reason }) => [phase, reason ?? ""]),
    }),
    gauge("agent_fleet_clock_untrusted", "Nodes whose clock is not synchronised.", [
      sample({}, nodes.filter(({ report }) => report?.clockTrusted === false).length),
    ]),
    ages(facts),
    ...(facts.perNode ? perNode(facts) : []),
  ];
}

interface Counted {
  readonly labels: readonly string[];
  /** One for each thing that is counted: the values of the labels. */
  readonly rows: readonly (readonly string[])[];
}

function counted(name: string, help: string, { labels, rows }: Counted): MetricFamily {
  const counts = new Map<string, { readonly values: readonly string[]; count: number }>();
  const known = labels.map(() => new Set<string>());
  for (const row of rows) {
    const values = row.map((value, index) => boundedValue(value, known[index]));
    const key = JSON.stringify(values);
    const found = counts.get(key) ?? { values, count: 0 };
    found.count += 1;
    counts.set(key, found);
  }
  const samples = [...counts.values()].map(({ values, count }) =>
    sample(Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ""])), count),
  );
  return gauge(name, help, samples);
}

function boundedValue(written: string, known = new Set<string>()): string {
  const value = written.slice(0, MAX_LABEL_LENGTH);
  if (known.has(value)) return value;
  if (known.size >= MAX_LABEL_VALUES) return OTHER;
  known.add(value);
  return value;
}

/** Of the reports of nodes that are online: others are silent with a reason. */
function ages({ nodes, now }: FleetFacts): MetricFamily {
  const seconds = nodes.flatMap(({ state, report }) => {
    const at =
      state?.state === "online" && report !== undefined ? Date.parse(report.time) : Number.NaN;
    return Number.isNaN(at) ? [] : [Math.max(0, now - at) / SECOND_MS];
  });
  const bucket = (le: number): Sample => ({
    suffix: "_bucket",
    labels: { le: le === Infinity ? "+Inf" : `${le}` },
    value: seconds.filter((age) => age <= le).length,
  });
  return {
    name: "agent_fleet_report_age_seconds",
    help: "Age of the last report of each node that is online, by the clock of the node.",
    type: "histogram",
    samples: [
      ...[...AGES, Infinity].map(bucket),
      { suffix: "_sum", labels: {}, value: seconds.reduce((sum, age) => sum + age, 0) },
      { suffix: "_count", labels: {}, value: seconds.length },
    ],
  };
}

function perNode({ nodes }: FleetFacts): readonly MetricFamily[] {
  const reported = nodes.flatMap(({ name, report }) => {
    const at = report === undefined ? Number.NaN : Date.parse(report.time);
    return Number.isNaN(at) ? [] : [sample({ node: name }, at / SECOND_MS)];
  });
  return [
    gauge(
      "agent_fleet_node_online",
      "1 while the node is connected to the broker.",
      nodes.map(({ name, state }) => sample({ node: name }, state?.state === "online" ? 1 : 0)),
    ),
    gauge("agent_fleet_node_reported_timestamp_seconds", "Time of the last report.", reported),
  ];
}

function gauge(name: string, help: string, samples: readonly Sample[]): MetricFamily {
  return { name, help, type: "gauge", samples };
}

function sample(labels: Labels, value: number): Sample {
  return { suffix: "", labels, value };
}
