// The state of the node as one retained message, never over 48 KiB.

import { canonicalJson } from "../../lib/json.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import { type NodeStatus, withMessages } from "../../api/v1/pod-status.ts";
import { rfc3339 } from "../../lib/clock.ts";
import type {
  PodLine,
  RejectedLine,
  ReportedState,
  MessageNumber,
} from "../../protocol/reported-state.ts";
import { MAX_PAYLOAD_BYTES, reportedSource, wireText } from "../../protocol/wire-text.ts";
import { compareText } from "../../lib/compare.ts";
import { byteLength } from "../../lib/short-text.ts";

export interface ReportInput extends Pick<
  ReportedState,
  keyof MessageNumber | "node" | "clockTrusted" | "desired" | "status" | "pods" | "settings"
> {
  /** As many as LABELS_BYTES have room for, by name. */
  readonly labels: Readonly<Record<string, string>>;
  /** Wall-clock milliseconds. */
  readonly time: number;
  readonly rejected: readonly Rejection[];
}

/** Room for the lines of `rejected`, so that they leave room for pods. */
const REJECTED_BYTES = 8 * 1024;
/** A longer node status is cut. */
const STATUS_BYTES = 12 * 1024;
const ACKS_BYTES = 20 * 1024;
/** A fleet may give a node many: the first by name are reported. */
const LABELS_BYTES = 2 * 1024;
/** For `truncated` and the commas around it. */
const SPARE_BYTES = 64;

/** Pods by name; those without room are counted in `truncated`. Texts are cut to 256 bytes, without control characters. */
export function report(whole: ReportInput): ReportedState {
  const { time, pods, rejected, settings, labels, ...input } = whole;
  const head: ReportedState = {
    apiVersion: "agent/v1",
    kind: "ReportedState",
    ...input,
    time: rfc3339(time),
    desired: fitting(withMessages(input.desired, wireText), ACKS_BYTES),
    ...(settings === undefined ? {} : { settings: withMessages(settings, wireText) }),
    ...reportedLabels(labels),
    status: fittingNodeStatus(withMessages(input.status, wireText)),
    pods: [],
    rejected: rejectedLines(rejected),
  };
  const room = MAX_PAYLOAD_BYTES - sizeOf(head) - SPARE_BYTES;
  const shown = fitting(pods.toSorted(byName).map(wireLine), room);
  const truncated = pods.length - shown.length;
  return { ...head, pods: shown, ...(truncated > 0 ? { truncated } : {}) };
}

function reportedLabels(labels: ReportInput["labels"]): Pick<ReportedState, "labels"> {
  const byKey = Object.entries(labels).toSorted(([a], [b]) => compareText(a, b));
  const shown = fitting(byKey, LABELS_BYTES);
  return shown.length === 0 ? {} : { labels: Object.fromEntries(shown) };
}

/** Equal content need not be published again: everything but time, session and seq. */
export function reportContent(reported: ReportedState): string {
  const { time: _time, session: _session, seq: _seq, ...content } = reported;
  return canonicalJson(content);
}

/** The longest start of the list whose JSON, with its commas, has at most `room` bytes. */
export function fitting<T>(lines: readonly T[], room: number): readonly T[] {
  let used = 0;
  const count = lines.findIndex((line) => {
    used += sizeOf(line) + 1;
    return used > room;
  });
  return count < 0 ? lines : lines.slice(0, count);
}

export function sizeOf(value: unknown): number {
  return byteLength(JSON.stringify(value));
}

function byName(a: PodLine, b: PodLine): number {
  return (
    compareText(a.namespace, b.namespace) ||
    compareText(a.name, b.name) ||
    compareText(a.uid, b.uid)
  );
}

function wireLine(line: PodLine): PodLine {
  return line.reason === undefined ? line : { ...line, reason: wireText(line.reason) };
}

function rejectedLines(rejected: readonly Rejection[]): readonly RejectedLine[] {
  const lines = rejected.map(rejectedLine);
  const shown = fitting(lines, REJECTED_BYTES);
  const more = lines.length - shown.length;
  const [last] = shown;
  if (more === 0 || last === undefined) return shown;
  const message = `${more} more are not listed here; "agent get pods" on the node shows them all`;
  return [...shown, { source: last.source, code: "Truncated", message }];
}

function rejectedLine(rejection: Rejection): RejectedLine {
  const { kind, namespace, name, code, path, message } = rejection;
  // For a file the reference names it; for a document the source is enough.
  const file = rejection.source === "file" ? `${rejection.ref}: ` : "";
  return {
    source: reportedSource(rejection.source),
    ...(kind === undefined ? {} : { kind: wireText(kind) }),
    ...(namespace === undefined ? {} : { namespace: wireText(namespace) }),
    ...(name === undefined ? {} : { name: wireText(name) }),
    ...(path === "" ? {} : { path: wireText(path) }),
    code,
    message: wireText(file + message),
  };
}

/** A status too big for the report loses its messages first, then everything. */
function fittingNodeStatus(status: NodeStatus): NodeStatus {
  if (sizeOf(status) <= STATUS_BYTES) return status;
  const terse = withMessages(status, () => "");
  if (sizeOf(terse) <= STATUS_BYTES) return terse;
  return { conditions: [], addresses: [], capacity: {}, allocatable: {}, nodeInfo: {} };
}
