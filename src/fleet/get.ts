// Performs: `agent fleet get` and `agent fleet status`: what the nodes reported, from their retained topics.

import { topicFor, isTopicName, parseTopic } from "../protocol/mqtt-topics.ts";

import { printDocument, printObject } from "../cli/json-yaml-output.ts";
import { GrowingTable, cellsOf, titlesOf, type Column } from "../cli/terminal-text.ts";
import type { Terminal } from "../cli/process-io.ts";
import {
  EVENT_COLUMNS,
  NODE_COLUMNS,
  POD_COLUMNS,
  STATUS_COLUMNS,
  summaryLine,
  type NodePod,
  type ReportedEvent,
} from "./get-tables.ts";
import {
  knownNodes,
  retainedOf,
  subscribeNodes,
  subscribeSummaries,
  type KnownNode,
} from "./known-nodes.ts";
import { readEvents } from "./node-report.ts";
import { openFleet, type BrokerFlags, type Fleet, type FleetParts } from "./open-broker.ts";
import { wireObject } from "../protocol/read-published.ts";

type OutputWord = "wide" | "json" | "yaml" | "name";

export interface GetFlags extends BrokerFlags {
  readonly output?: Exclude<OutputWord, "name">;
}

export function getNodes(parts: FleetParts, flags: GetFlags): Promise<0> {
  return withNodes(parts, flags, (nodes, fleet) =>
    print(parts.terminal, flags.output, {
      items: nodes,
      columns: NODE_COLUMNS,
      nothing: "No nodes found.",
      whole: () => ({ nodes: nodes.map((node) => nodeObject(node, fleet)) }),
    }),
  );
}

/** The whole report of a node, unchanged. */
function nodeObject({ name, state, report }: KnownNode, fleet: Fleet): object {
  const { report: payload } = retainedOf(fleet, name);
  const isReport = report !== undefined && payload !== undefined;
  return { name, state: state ?? null, reported: isReport ? wireObject(payload) : null };
}

export function getPods(parts: FleetParts, flags: GetFlags): Promise<0> {
  return withNodes(parts, flags, (nodes, fleet) => {
    const pods = nodes.flatMap((node) => (node.report?.pods ?? []).map((pod) => ({ node, pod })));
    return print(parts.terminal, flags.output, {
      items: pods,
      columns: POD_COLUMNS,
      nothing: "No pods found.",
      whole: async () => ({ pods: await podObjects(fleet, pods) }),
    });
  });
}

/** With the status of each pod from its own topic. */
async function podObjects(
  { session, root }: Fleet,
  pods: readonly NodePod[],
): Promise<readonly object[]> {
  const placed = pods.map(({ node, pod }) => {
    const { namespace, name } = pod;
    // No agent reported a name that no topic can have.
    const topic = [namespace, name].every(isTopicName)
      ? topicFor({ type: "PodReported", root, node: node.name, namespace, pod: name })
      : undefined;
    return { item: { node: node.name, ...pod }, topic };
  });
  const topics = placed.flatMap(({ topic }) => topic ?? []);
  if (topics.length > 0) await session.subscribe(topics);
  return placed.map(({ item, topic }) => {
    const whole = topic === undefined ? undefined : session.latest.get(topic);
    const reported = whole === undefined ? undefined : wireObject(whole);
    return { ...item, status: reported?.["status"] ?? null };
  });
}

export async function status(parts: FleetParts, flags: BrokerFlags): Promise<0> {
  const { terminal } = parts;
  await using fleet = await openFleet(parts, flags);
  await subscribeSummaries(fleet, terminal);
  const nodes = knownNodes(fleet);
  if (nodes.length === 0) terminal.err("No nodes found.\n");
  else {
    printTable(terminal, STATUS_COLUMNS, nodes);
    terminal.out(`${summaryLine(nodes)}\n`);
  }
  return 0;
}

/** Reads state and report of every node, and shows them. */
async function withNodes(
  parts: FleetParts,
  flags: BrokerFlags,
  show: (nodes: readonly KnownNode[], fleet: Fleet) => void | Promise<void>,
): Promise<0> {
  await using fleet = await openFleet(parts, flags);
  await subscribeNodes(fleet, ["state", "reported"], parts.terminal);
  await show(knownNodes(fleet), fleet);
  return 0;
}

interface Printed<T> {
  readonly items: readonly T[];
  readonly columns: readonly Column<T>[];
  /** Printed instead of an empty table. */
  readonly nothing: string;
  /** Printed as JSON or YAML. */
  readonly whole: () => object | Promise<object>;
}

async function print<T>(
  terminal: Terminal,
  output: GetFlags["output"],
  { items, columns, nothing, whole }: Printed<T>,
): Promise<void> {
  if (output === "json" || output === "yaml") return printObject(terminal, await whole(), output);
  if (items.length === 0) return terminal.err(`${nothing}\n`);
  return printTable(terminal, columns, items, output === "wide");
}

function printTable<T>(
  terminal: Terminal,
  columns: readonly Column<T>[],
  items: readonly T[],
  isWide = false,
): void {
  const view = { isWide, now: terminal.clock.now() };
  const rows = items.map((item) => cellsOf(columns, item, view));
  terminal.out(new GrowingTable(titlesOf(columns, isWide), terminal).add(rows));
}

export interface GetEventsFlags extends GetFlags {
  readonly watch?: boolean;
  /** Ms to listen without --watch. */
  readonly timeout: number;
}

/** A broker keeps no events: they are shown as they come. */
export async function getEvents(parts: FleetParts, flags: GetEventsFlags): Promise<0> {
  const { terminal } = parts;
  const { output } = flags;
  const isWide = output === "wide";
  await using fleet = await openFleet(parts, flags);
  const table = new GrowingTable(titlesOf(EVENT_COLUMNS, isWide), terminal);
  let any = false;
  /** The order of printing. */
  let printed = Promise.resolve();
  const show = (reported: ReportedEvent): void => {
    any = true;
    const { node, event } = reported;
    const view = { isWide, now: terminal.clock.now() };
    if (output === "json" || output === "yaml")
      printed = printed.then(() => printDocument(terminal, { node, ...event }, output));
    else terminal.out(table.add([cellsOf(EVENT_COLUMNS, reported, view)]));
  };
  using _ = fleet.session.listen(({ topic, payload }) => {
    const parsed = parseTopic(fleet.root, topic);
    if (parsed?.type !== "NodeEvent") return;
    for (const event of readEvents(payload)) show({ node: parsed.node, event });
  });
  await subscribeNodes(fleet, ["event"], terminal);
  const signal = terminal.interrupted();
  const limit = flags.watch === true ? {} : { ms: flags.timeout };
  await fleet.session.until((): true | undefined => undefined, { ...limit, signal });
  await printed;
  if (!any) terminal.err("No events came; a broker keeps none, -w waits for them.\n");
  return 0;
}
