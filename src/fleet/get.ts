// Performs: `agent fleet get` and `agent fleet status`: what the nodes reported, from their retained topics.

import { topicFor, isTopicName, parseTopic } from "../protocol/mqtt-topics.ts";
import type { OutputFormat } from "../cli/get/resource.ts";
import { printObject } from "../cli/output.ts";
import { GrowingTable, cellsOf, titlesOf, type Column } from "../cli/terminal-text.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { MqttMessage } from "../mqtt/mqtt-link.ts";
import {
  EVENT_COLUMNS,
  NODE_COLUMNS,
  POD_COLUMNS,
  STATUS_COLUMNS,
  summaryLine,
} from "./fleet-rows.ts";
import { knownNodes, subscribeNodes, type KnownNode } from "./known-nodes.ts";
import { readEvents, type EventReport } from "./node-report.ts";
import { openFleet, type BrokerFlags, type Fleet, type FleetParts } from "./open-broker.ts";
import { wireObject } from "./wire-values.ts";

export interface GetFlags extends BrokerFlags {
  readonly output?: Exclude<OutputFormat, "name">;
}

export async function getNodes(parts: FleetParts, flags: GetFlags): Promise<0> {
  const { terminal } = parts;
  await using fleet = await openFleet(parts, flags);
  await subscribeNodes(fleet, ["state", "reported"], terminal);
  const nodes = knownNodes(fleet);
  const { output } = flags;
  if (output === "json" || output === "yaml") {
    await printObject(terminal, { nodes: nodes.map(nodeObject) }, output);
    return 0;
  }
  printTable(terminal, nodes, {
    columns: NODE_COLUMNS,
    isWide: output === "wide",
    nothing: "No nodes found.",
  });
  return 0;
}

/** The whole report of a node, unchanged. */
function nodeObject({ name, state, report }: KnownNode): object {
  return { name, state: state ?? null, reported: report?.whole ?? null };
}

export async function getPods(parts: FleetParts, flags: GetFlags): Promise<0> {
  const { terminal } = parts;
  await using fleet = await openFleet(parts, flags);
  await subscribeNodes(fleet, ["state", "reported"], terminal);
  const pods = knownNodes(fleet).flatMap((node) =>
    (node.report?.pods ?? []).map((pod) => ({ node, pod })),
  );
  const { output } = flags;
  if (output === "json" || output === "yaml") {
    const topics = pods.flatMap(({ node, pod }) => podTopic(fleet.root, node.name, pod) ?? []);
    if (topics.length > 0) await fleet.session.subscribe(topics);
    const items = pods.map(({ node, pod }) => {
      const topic = podTopic(fleet.root, node.name, pod);
      const whole = topic === undefined ? undefined : fleet.session.latest.get(topic);
      const reported = whole === undefined ? undefined : wireObject(whole);
      return { node: node.name, ...pod, status: reported?.["status"] ?? null };
    });
    await printObject(terminal, { pods: items }, output);
    return 0;
  }
  printTable(terminal, pods, {
    columns: POD_COLUMNS,
    isWide: output === "wide",
    nothing: "No pods found.",
  });
  return 0;
}

/** undefined = a name that no topic can have, so no agent reported it. */
function podTopic(
  root: string,
  node: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string | undefined {
  if (!isTopicName(namespace) || !isTopicName(name)) return undefined;
  return topicFor({ type: "PodReported", root, node, namespace, pod: name });
}

export interface GetEventsFlags extends GetFlags {
  readonly watch?: boolean;
  /** Ms to listen without --watch. */
  readonly timeout: number;
}

/** A broker keeps no events: they are shown as they come. */
export async function getEvents(parts: FleetParts, flags: GetEventsFlags): Promise<0> {
  const { terminal } = parts;
  await using fleet = await openFleet(parts, flags);
  const printer = new EventPrinter(terminal, fleet, flags.output);
  using _ = fleet.session.listen((message) => printer.print(message));
  await subscribeNodes(fleet, ["event"], terminal);
  const signal = terminal.interrupted();
  const limit = flags.watch === true ? {} : { ms: flags.timeout };
  await fleet.session.until((): true | undefined => undefined, { ...limit, signal });
  await printer.printed;
  if (!printer.any) terminal.err("No events came; a broker keeps none, -w waits for them.\n");
  return 0;
}

class EventPrinter {
  readonly #terminal: Terminal;
  readonly #root: string;
  readonly #output: GetFlags["output"];
  readonly #table: GrowingTable;
  any = false;
  /** The order of printing. */
  printed: Promise<void> = Promise.resolve();

  constructor(terminal: Terminal, { root }: Fleet, output: GetFlags["output"]) {
    this.#terminal = terminal;
    this.#root = root;
    this.#output = output;
    this.#table = new GrowingTable(titlesOf(EVENT_COLUMNS, output === "wide"));
  }

  print({ topic, payload }: MqttMessage): void {
    const parsed = parseTopic(this.#root, topic);
    if (parsed?.type !== "NodeEvent") return;
    for (const event of readEvents(payload)) this.#printOne(parsed.node, event);
  }

  #printOne(node: string, event: EventReport): void {
    const output = this.#output;
    this.any = true;
    if (output === "json" || output === "yaml") {
      this.printed = this.printed.then(() => {
        if (output === "yaml") this.#terminal.out("---\n");
        return printObject(this.#terminal, { node, ...event }, output);
      });
      return;
    }
    const view = { isWide: output === "wide", now: this.#terminal.clock.now() };
    this.#terminal.out(this.#table.add([cellsOf(EVENT_COLUMNS, { node, event }, view)]));
  }
}

export async function status(parts: FleetParts, flags: BrokerFlags): Promise<0> {
  const { terminal } = parts;
  await using fleet = await openFleet(parts, flags);
  await subscribeNodes(fleet, ["state", "reported"], terminal);
  const nodes = knownNodes(fleet);
  printTable(terminal, nodes, {
    columns: STATUS_COLUMNS,
    isWide: false,
    nothing: "No nodes found.",
  });
  if (nodes.length > 0) terminal.out(`${summaryLine(nodes)}\n`);
  return 0;
}

function printTable<T>(
  terminal: Terminal,
  items: readonly T[],
  table: {
    readonly columns: readonly Column<T>[];
    readonly isWide: boolean;
    /** Printed instead of an empty table. */
    readonly nothing: string;
  },
): void {
  const { columns, isWide, nothing } = table;
  if (items.length === 0) return terminal.err(`${nothing}\n`);
  const view = { isWide, now: terminal.clock.now() };
  const rows = items.map((item) => cellsOf(columns, item, view));
  return terminal.out(new GrowingTable(titlesOf(columns, isWide)).add(rows));
}
