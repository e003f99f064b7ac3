// The tables of `agent fleet get` and `status`: nodes, pods, events, and one line on the state of each node.

import { age, type Column, type TableView } from "../cli/terminal-text.ts";
import type { PodLine } from "../protocol/reported-state.ts";
import type { KnownNode } from "./known-nodes.ts";
import type { ReportedAck, EventReport } from "./node-report.ts";

const UNKNOWN = "unknown";

export const NODE_COLUMNS: readonly Column<KnownNode>[] = [
  { title: "NAME", cell: ({ name }) => name },
  { title: "STATE", cell: stateOf },
  {
    title: "READY",
    cell: ({ report }) => [readyWord(report?.ready), ...(report?.troubles ?? [])].join(","),
  },
  { title: "AGENT", cell: agentOf },
  {
    title: "PODS",
    cell: ({ report }) => (report === undefined ? "" : `${report.pods.length}`),
  },
  { title: "REPORTED", cell: reported },
  { title: "ADDRESS", isWide: true, cell: ({ report }) => report?.address ?? "" },
  { title: "OS-IMAGE", isWide: true, cell: nodeInfo("osImage") },
  { title: "KERNEL", isWide: true, cell: nodeInfo("kernelVersion") },
  { title: "ARCH", isWide: true, cell: nodeInfo("architecture") },
  { title: "RUNTIME", isWide: true, cell: nodeInfo("containerRuntimeVersion") },
];

function stateOf({ state }: KnownNode): string {
  return state?.state ?? UNKNOWN;
}

function agentOf({ state }: KnownNode): string {
  return state?.agent ?? "";
}

function nodeInfo(key: string): (node: KnownNode) => string {
  return ({ report }) => report?.nodeInfo?.[key] ?? "";
}

function readyWord(status: string | undefined): string {
  if (status === undefined || status === "") return "Unknown";
  return status === "True" ? "Ready" : "NotReady";
}

function reported({ report }: KnownNode, { now }: TableView): string {
  return report === undefined ? "never" : `${age(report.time, now)} ago`;
}

export interface NodePod {
  readonly node: KnownNode;
  readonly pod: PodLine;
}

export const POD_COLUMNS: readonly Column<NodePod>[] = [
  { title: "NODE", cell: ({ node }) => node.name },
  { title: "NAMESPACE", cell: ({ pod }) => pod.namespace },
  { title: "NAME", cell: ({ pod }) => pod.name },
  { title: "READY", cell: ({ pod }) => pod.ready },
  { title: "STATUS", cell: podStatus },
  { title: "RESTARTS", cell: ({ pod }) => `${pod.restarts}` },
  { title: "AGE", cell: ({ pod }, { now }) => age(pod.since, now) },
  { title: "SOURCE", isWide: true, cell: ({ pod }) => pod.source },
  { title: "REVISION", isWide: true, cell: ({ pod }) => pod.specHash },
  { title: "UID", isWide: true, cell: ({ pod }) => pod.uid },
];

/** The last report of a node that is not online may be long out of date. */
function podStatus({ node: { state }, pod }: NodePod): string {
  const status = pod.reason ?? pod.phase;
  const isStale = state !== undefined && state.state !== "online";
  return isStale ? `${status} (node ${state.state})` : status;
}

export interface ReportedEvent {
  readonly node: string;
  readonly event: EventReport;
}

export const EVENT_COLUMNS: readonly Column<ReportedEvent>[] = [
  { title: "NODE", cell: ({ node }) => node },
  { title: "LAST SEEN", cell: ({ event }, { now }) => age(event.time, now) },
  { title: "TYPE", cell: ({ event }) => event.type },
  { title: "REASON", cell: ({ event }) => event.reason },
  { title: "OBJECT", cell: ({ event }) => event.object },
  { title: "NAMESPACE", isWide: true, cell: ({ event }) => event.namespace },
  { title: "COUNT", isWide: true, cell: ({ event }) => `${event.count}` },
  { title: "MESSAGE", cell: ({ event }) => event.message.trim() },
];

export const STATUS_COLUMNS: readonly Column<KnownNode>[] = [
  { title: "NODE", cell: ({ name }) => name },
  { title: "STATE", cell: stateOf },
  { title: "AGENT", cell: agentOf },
  { title: "CLOCK", cell: clockOf },
  { title: "REPORTED", cell: reported },
  { title: "DOCUMENTS", cell: ({ report }) => (report?.desired ?? []).map(ackText).join("; ") },
];

function clockOf({ report }: KnownNode): string {
  if (report === undefined) return UNKNOWN;
  return report.clockTrusted ? "trusted" : "untrusted";
}

/** `node 7 Healthy 200`; a refusal that the node still reports comes after it. */
function ackText(ack: ReportedAck): string {
  const { source, generation, phase, code, message, lastRejected } = ack;
  const why = message === undefined || message === "" ? "" : `: ${message}`;
  const version = source === "static" ? "" : ` ${generation}`;
  const isTold = lastRejected === undefined || phase === "Rejected";
  const refused = isTold ? "" : ` (refused ${lastRejected.code}: ${lastRejected.message})`;
  return `${source}${version} ${phase} ${code}${why}${refused}`;
}

/** `3 nodes: 2 online, 1 lost; 1 in trouble`. */
export function summaryLine(nodes: readonly KnownNode[]): string {
  const count = (test: (node: KnownNode) => boolean): number => nodes.filter(test).length;
  const online = count(({ state }) => state?.state === "online");
  const trouble = count(
    ({ report }) => report?.desired.some(isTrouble) === true || report?.ready === "False",
  );
  const away = nodes.length - online;
  const what = nodes.length === 1 ? "node" : "nodes";
  return `${nodes.length} ${what}: ${online} online, ${away} away; ${trouble} in trouble`;
}

/** A held or superseded update is as the operator wants it. */
function isTrouble({ code, phase }: ReportedAck): boolean {
  return code >= 400 && phase !== "Held" && phase !== "Superseded";
}
