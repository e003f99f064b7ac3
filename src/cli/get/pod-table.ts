// Pods as rows: which columns there are and what stands in them.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import { humanDuration } from "../../api/resource/duration.ts";
import { ANNOTATION } from "../../api/pod/labels.ts";
import type { PodView } from "../api-views.ts";
import type { PodSummary } from "../../api/pod/pod-summary.ts";
import { summarizePod } from "./pod-state.ts";
import { printable } from "../printable.ts";
import type { Row } from "../table.ts";

export interface PodColumns {
  /** IP, NODE and SOURCE as well. */
  readonly wide: boolean;
  /** NAMESPACE first. */
  readonly namespaces: boolean;
}

export function podHeader(columns: PodColumns): Row {
  const first = columns.namespaces ? ["NAMESPACE", "NAME"] : ["NAME"];
  const last = columns.wide ? ["IP", "NODE", "SOURCE"] : [];
  return [...first, "READY", "STATUS", "RESTARTS", "AGE", ...last];
}

/** One pod's row; `now` is wall-clock ms, for the ages only. */
export function podRow(pod: PodView, columns: PodColumns, now: number): Row {
  const summary = summarizePod(pod);
  return [
    ...(columns.namespaces ? [podNamespace(pod)] : []),
    pod.metadata.name,
    `${summary.ready}/${summary.containers}`,
    summary.status,
    restarts(summary, now),
    age(pod.status.startTime ?? pod.metadata.creationTimestamp, now),
    ...(columns.wide ? wideCells(pod) : []),
  ];
}

/** What makes a row worth printing again: everything in it but what only time changes. */
export function rowIdentity(pod: PodView, columns: PodColumns): string {
  const summary = summarizePod(pod);
  const cells = [podNamespace(pod), summary, pod.status.startTime];
  return JSON.stringify([...cells, ...(columns.wide ? wideCells(pod) : [])]);
}

export function podNamespace(pod: PodView): string {
  return pod.metadata.namespace ?? "default";
}

/** A refused manifest or document as one line: `file:line: field: message`. */
export function rejectionLine(rejection: Rejection): string {
  const line = rejection.line === undefined ? "" : `:${rejection.line}`;
  const path = rejection.path === "" ? "" : `${rejection.path}: `;
  return printable(`${rejection.ref}${line}: ${path}${rejection.message}`);
}

/** How long ago an RFC 3339 time was. */
export function age(time: string | undefined, now: number): string {
  const then = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(then) ? "<unknown>" : humanDuration(now - then);
}

function restarts(summary: PodSummary, now: number): string {
  if (summary.restarts === 0 || summary.lastRestart === undefined) return `${summary.restarts}`;
  return `${summary.restarts} (${age(summary.lastRestart, now)} ago)`;
}

function wideCells(pod: PodView): Row {
  const annotations = pod.metadata.annotations ?? {};
  const source = [annotations[ANNOTATION.configSource], annotations[ANNOTATION.sourceRef]];
  return [
    pod.status.podIP ?? "",
    pod.spec.nodeName ?? "",
    source.filter((word) => word !== undefined).join(" "),
  ];
}
