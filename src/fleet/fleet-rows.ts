// The fleet as rows: nodes, pods, events, and one line on how each node does.

import { age, type Row } from "../cli/terminal-text.ts";
import type { PodLine } from "../protocol/reported-state.ts";
import type { KnownNode } from "./known-nodes.ts";
import type { ToldAck, ToldEvent } from "./node-report.ts";

const UNKNOWN = "unknown";

export function nodeHeader(wide: boolean): Row {
  const columns = ["NAME", "STATE", "READY", "AGENT", "PODS", "REPORTED"];
  return wide ? [...columns, "ADDRESS", "OS-IMAGE", "KERNEL", "ARCH", "RUNTIME"] : columns;
}

/** `now` is wall-clock ms, for ages only. */
export function nodeRow(node: KnownNode, wide: boolean, now: number): Row {
  const { name, state, report } = node;
  const row = [
    name,
    state?.state ?? UNKNOWN,
    [readyWord(report?.ready), ...(report?.troubles ?? [])].join(","),
    state?.agent ?? "",
    report === undefined ? "" : `${report.pods.length}`,
    reported(node, now),
  ];
  if (!wide) return row;
  const details = ["osImage", "kernelVersion", "architecture", "containerRuntimeVersion"];
  const info = report?.nodeInfo ?? {};
  return [...row, report?.address ?? "", ...details.map((key) => info[key] ?? "")];
}

function readyWord(status: string | undefined): string {
  if (status === undefined || status === "") return "Unknown";
  return status === "True" ? "Ready" : "NotReady";
}

function reported({ report }: KnownNode, now: number): string {
  return report === undefined ? "never" : `${age(report.time, now)} ago`;
}

export function podHeader(wide: boolean): Row {
  const columns = ["NODE", "NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"];
  return wide ? [...columns, "SOURCE", "REVISION", "UID"] : columns;
}

export function podRow(
  { node, pod }: { readonly node: KnownNode; readonly pod: PodLine },
  wide: boolean,
  now: number,
): Row {
  // What a node that is away said of its pods may be long over.
  const isStale = node.state !== undefined && node.state.state !== "online";
  const status = pod.reason ?? pod.phase;
  const row = [
    node.name,
    pod.namespace,
    pod.name,
    pod.ready,
    isStale ? `${status} (node ${node.state.state})` : status,
    `${pod.restarts}`,
    age(pod.since, now),
  ];
  return wide ? [...row, pod.source, pod.specHash, pod.uid] : row;
}

export function eventHeader(wide: boolean): Row {
  const columns = ["NODE", "LAST SEEN", "TYPE", "REASON", "OBJECT"];
  return wide ? [...columns, "NAMESPACE", "COUNT", "MESSAGE"] : [...columns, "MESSAGE"];
}

export function eventRow(
  { node, event }: { readonly node: string; readonly event: ToldEvent },
  wide: boolean,
  now: number,
): Row {
  const row = [node, age(event.time, now), event.type, event.reason, event.object];
  const message = event.message.trim();
  return wide ? [...row, event.namespace, `${event.count}`, message] : [...row, message];
}

export function statusHeader(): Row {
  return ["NODE", "STATE", "AGENT", "CLOCK", "REPORTED", "DOCUMENTS"];
}

export function statusRow(node: KnownNode, now: number): Row {
  const { name, state, report } = node;
  const clock = report === undefined ? UNKNOWN : report.clockTrusted ? "trusted" : "untrusted";
  const documents = (report?.desired ?? []).map(ackText).join("; ");
  return [name, state?.state ?? UNKNOWN, state?.agent ?? "", clock, reported(node, now), documents];
}

/** `node 7 Healthy 200`; a refusal that the node still speaks of comes after it. */
function ackText(ack: ToldAck): string {
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

/** Who holds an update back, or publishes another one, wants it so. */
function isTrouble({ code, phase }: ToldAck): boolean {
  return code >= 400 && phase !== "Held" && phase !== "Superseded";
}
