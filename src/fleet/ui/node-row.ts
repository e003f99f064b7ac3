// One node as the page of the fleet shows it: a row of the list, and everything on request. All of it is text that
// devices have chosen, cut to a length.

import type { KnownNode } from "../known-nodes.ts";
import { groupsOf, type EventReport, type NodeReport } from "../node-report.ts";

/** Characters of one text of a device. */
export const MAX_CELL = 200;
/** Entries of each list about one node. */
export const MAX_LIST = 200;

export interface NodeRow {
  readonly name: string;
  /** online, offline or lost; "unknown" = not reported. */
  readonly state: string;
  /** Of the agent. */
  readonly version: string;
  /** Ready, NotReady or Unknown. */
  readonly ready: string;
  /** Conditions that are trouble, such as MemoryPressure. */
  readonly troubles: readonly string[];
  /** The phase of the document that is the worst off; "" = no document. */
  readonly phase: string;
  readonly isClockTrusted: boolean;
  readonly pods: number;
  /** RFC 3339 of the report; "" = none. */
  readonly time: string;
  /** Groups whose documents it reports. */
  readonly groups: readonly string[];
  /** `site=berlin`. */
  readonly labels: readonly string[];
  readonly isTrouble: boolean;
}

const CODE_FAILED = 400;
const CODE_HELD = 423;

/** Of a node that has reported nothing. */
const NO_REPORT = {
  time: "",
  clockTrusted: false,
  desired: [],
  labels: {},
  pods: [],
  ready: "",
  troubles: [],
} satisfies Partial<NodeReport>;

export function rowOf({ name, state, report }: KnownNode): NodeRow {
  const reported: ReportedPart = report ?? NO_REPORT;
  const { time, clockTrusted, desired, labels, pods, ready, troubles } = reported;
  const worst = desired.toSorted((a, b) => b.code - a.code)[0];
  const isFailed = desired.some(({ code }) => code >= CODE_FAILED && code !== CODE_HELD);
  return {
    name,
    state: cut(state?.state ?? "unknown"),
    version: cut(state?.agent ?? ""),
    ready: readyOf(ready),
    troubles: texts(troubles),
    phase: cut(worst?.phase ?? ""),
    isClockTrusted: clockTrusted,
    pods: pods.length,
    time: cut(time),
    groups: texts(groupsOf({ desired })),
    labels: texts(Object.entries(labels).map(([key, value]) => `${key}=${value}`)),
    isTrouble: isFailed || troubles.length > 0 || ready === "False",
  };
}

type ReportedPart = Pick<NodeReport, keyof typeof NO_REPORT>;

function readyOf(status: string): NodeRow["ready"] {
  if (status === "") return "Unknown";
  return status === "True" ? "Ready" : "NotReady";
}

export interface NodeDetails extends NodeRow {
  readonly address: string;
  readonly info: readonly (readonly [string, string])[];
  /** Node conditions as reported. */
  readonly conditions: readonly Readonly<
    Record<"type" | "status" | "reason" | "message", string>
  >[];
  readonly documents: readonly Readonly<Record<"source" | "phase" | "message", string>>[];
  readonly podLines: readonly Readonly<
    Record<"namespace" | "name" | "phase" | "reason" | "ready" | "restarts" | "since", string>
  >[];
  readonly events: readonly Readonly<
    Record<"time" | "type" | "reason" | "object" | "message", string>
  >[];
}

/** `events`: those that the node has published last. */
export function detailsOf(node: KnownNode, events: readonly EventReport[]): NodeDetails {
  const { report } = node;
  return {
    ...rowOf(node),
    address: cut(report?.address ?? ""),
    info: Object.entries(report?.nodeInfo ?? {})
      .slice(0, MAX_LIST)
      .map(([key, value]) => [cut(key), cut(value)] as const),
    conditions: (report?.conditions ?? []).slice(0, MAX_LIST).map((condition) => ({
      type: cut(condition.type),
      status: cut(condition.status),
      reason: cut(condition.reason ?? ""),
      message: cut(condition.message ?? ""),
    })),
    documents: (report?.desired ?? []).slice(0, MAX_LIST).map((ack) => ({
      source: cut(ack.source),
      phase: cut(`${ack.generation} ${ack.phase} ${ack.code}`),
      message: cut(ack.message ?? ""),
    })),
    podLines: (report?.pods ?? []).slice(0, MAX_LIST).map((pod) => ({
      namespace: cut(pod.namespace),
      name: cut(pod.name),
      phase: cut(pod.phase),
      reason: cut(pod.reason ?? ""),
      ready: cut(pod.ready),
      restarts: `${pod.restarts}`,
      since: cut(pod.since),
    })),
    events: events.slice(0, MAX_LIST).map(({ time, type, reason, object, message }) => ({
      time: cut(time),
      type: cut(type),
      reason: cut(reason),
      object: cut(object),
      message: cut(message),
    })),
  };
}

function texts(all: readonly string[]): readonly string[] {
  return all.slice(0, MAX_LIST).map(cut);
}

export function cut(text: string): string {
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1)}…` : text;
}
