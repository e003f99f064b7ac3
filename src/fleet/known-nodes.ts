// Performs: the nodes of the fleet as the broker retains them: state and report of each.

import type { Clock } from "../lib/clock.ts";
import { topicFor } from "../protocol/mqtt-topics.ts";
import type { Terminal } from "../cli/process-io.ts";
import { nodeFilters, nodesOf, type NodeLeaf } from "./fleet-topics.ts";
import type { Fleet } from "./open-broker.ts";
import {
  readReport,
  readState,
  readSummary,
  type NodeReport,
  type NodeState,
} from "./node-report.ts";

export interface KnownNode {
  readonly name: string;
  readonly state: NodeState | undefined;
  readonly report: NodeReport | undefined;
}

const WILDCARD_NOTICE =
  "no nodes are named, so the broker is asked for all there are; where it keeps that from us, name them in fleet.yaml or with --nodes\n";

/** Of one wildcard some brokers send only so many retained messages, and drop the others. */
const MAY_BE_MORE = 500;

function manyNotice(count: number): string {
  return `${count} nodes answered; a broker whose queue or line is short may have left out others: name the nodes in fleet.yaml to see each of them\n`;
}

/** Subscribes to the topics of the nodes in the file, else of all nodes, and prints which; unless they arrive already. */
export async function subscribeNodes(
  fleet: Fleet,
  leaves: readonly NodeLeaf[],
  terminal: Terminal,
): Promise<void> {
  return subscribe(fleet, leaves, { terminal, look: (name) => void knownNode(fleet, name) });
}

/** The same for state and report, of which only a summary is kept: that is less memory. */
export async function subscribeSummaries(fleet: Fleet, terminal: Terminal): Promise<void> {
  return subscribe(fleet, ["state", "reported"], {
    terminal,
    look: (name) => summarize(fleet, name),
  });
}

interface Reading {
  readonly terminal: Terminal;
  /** Parses what has arrived of a node. */
  readonly look: (name: string) => void;
}

async function subscribe(
  { session, root, file, isFollowing = false }: Fleet,
  leaves: readonly NodeLeaf[],
  { terminal, look }: Reading,
): Promise<void> {
  if (isFollowing && leaves.every((leaf) => leaf === "state" || leaf === "reported")) return;
  if (file.nodes === undefined) terminal.err(WILDCARD_NOTICE);
  const filters = nodeFilters(root, file.nodes, leaves);
  // A broker keeps no events.
  if (leaves.every((leaf) => leaf === "event")) return session.subscribeLive(filters);
  // Parses meanwhile what has arrived so far, which would otherwise begin when nothing more comes.
  const lookAhead = (): Promise<void> =>
    inTurns(nodesOf(root, session.latest.keys()), look, terminal.clock);
  // What a wildcard has left out is asked for when the broker has been silent: asked before, mosquitto 2.0 sometimes left a
  // subscription without an answer.
  await session.read(filters, lookAhead);
  if (file.nodes !== undefined || session.latest.size < MAY_BE_MORE) return;
  const names = nodesOf(root, session.latest.keys());
  await session.read(
    nodeFilters(root, names, leaves).filter((topic) => !session.latest.has(topic)),
  );
  terminal.err(manyNotice(names.length));
}

/** Of a large fleet; between two turns more may arrive. */
const NODES_A_TURN = 100;

async function inTurns(
  names: readonly string[],
  look: (name: string) => void,
  clock: Clock,
): Promise<void> {
  for (const [index, name] of names.entries()) {
    look(name);
    if (index % NODES_A_TURN === 0) await clock.sleep(0);
  }
}

/** Keeps the summary of the report in the place of its payload. */
function summarize(fleet: Pick<Fleet, "session" | "root">, node: string): void {
  const { report } = retainedOf(fleet, node);
  if (report === undefined || REPORTS.has(report)) return;
  const nothing = new Uint8Array();
  REPORTS.set(nothing, { read: readSummary(report) });
  fleet.session.replace(topicFor({ type: "NodeReported", root: fleet.root, node }), nothing);
}

/** Sorted by name; includes nodes of the file that have reported nothing. */
export function knownNodes(fleet: Fleet): readonly KnownNode[] {
  const { session, root, file } = fleet;
  const seen = nodesOf(root, session.latest.keys());
  const names = [...new Set([...(file.nodes ?? []), ...seen])].toSorted();
  return names.map((name) => knownNode(fleet, name));
}

export function knownNode(fleet: Pick<Fleet, "session" | "root">, name: string): KnownNode {
  const { state, report } = retainedOf(fleet, name);
  return {
    name,
    state: state === undefined ? undefined : remembered(STATES, state, readState),
    report: report === undefined ? undefined : remembered(REPORTS, report, readReport),
  };
}

/** Each message of a fleet may have all nodes looked at: what was parsed is not parsed again. */
const STATES = new WeakMap<Uint8Array, { readonly read: NodeState | undefined }>();
const REPORTS = new WeakMap<Uint8Array, { readonly read: NodeReport | undefined }>();

function remembered<T>(
  memory: WeakMap<Uint8Array, { readonly read: T }>,
  payload: Uint8Array,
  read: (payload: Uint8Array) => T,
): T {
  const known = memory.get(payload) ?? { read: read(payload) };
  memory.set(payload, known);
  return known.read;
}

/** What the broker retains of a node, as it was published. */
export interface RetainedNode {
  readonly state: Uint8Array | undefined;
  readonly report: Uint8Array | undefined;
}

export function retainedOf(
  { session: { latest }, root }: Pick<Fleet, "session" | "root">,
  node: string,
): RetainedNode {
  return {
    state: latest.get(topicFor({ type: "NodeState", root, node })),
    report: latest.get(topicFor({ type: "NodeReported", root, node })),
  };
}

/** Members of a group, sorted by name: those the file names, and those that report its document. */
export function membersOf(group: string, fleet: Fleet): readonly KnownNode[] {
  return membersAmong(knownNodes(fleet), group, fleet);
}

export function membersAmong(
  nodes: readonly KnownNode[],
  group: string,
  { file }: Pick<Fleet, "file">,
): readonly KnownNode[] {
  const named = new Set(file.groups[group] ?? []);
  const source = `group/${group}`;
  return nodes.filter(
    ({ name, report }) =>
      named.has(name) || report?.desired.some((ack) => ack.source === source) === true,
  );
}
