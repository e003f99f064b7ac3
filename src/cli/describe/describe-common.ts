// What the descriptions of several kinds have: labels, annotations, times, events. kubectl: describe

import { compareText } from "../../lib/compare.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Palette } from "../terminal/palette.ts";
import { age } from "../terminal-text.ts";
import type { Description } from "./description.ts";
import { listAt, objectAt, textAt } from "./read-json.ts";

/** An object with what is shown beside it. */
export interface Described {
  readonly object: JsonObject;
  /** About it. */
  readonly events: readonly JsonObject[];
  /** Wall-clock milliseconds, for ages. */
  readonly now: number;
  readonly palette: Palette;
}

/** Longer annotations, and those of several lines, stand below their key. */
const ANNOTATION_WIDTH = 140;
const SKIPPED = "kubectl.kubernetes.io/last-applied-configuration";

export function sortedEntries(object: JsonObject): readonly (readonly [string, string])[] {
  return Object.keys(object)
    .toSorted(compareText)
    .map((key) => [key, textAt(object, key)]);
}

export function nameLines(out: Description, object: JsonObject): void {
  out.line(0, "Name:", textAt(object, "metadata", "name"));
  const namespace = textAt(object, "metadata", "namespace");
  if (namespace !== "") out.line(0, "Namespace:", namespace);
}

/** `title: a=b`, one below the other. */
export function mapLines(out: Description, title: string, map: JsonObject): void {
  listLines(
    out,
    title,
    sortedEntries(map).map(([key, value]) => `${key}=${value}`),
  );
}

export function listLines(out: Description, title: string, items: readonly string[]): void {
  if (items.length === 0) out.line(0, `${title}:`, "<none>");
  items.forEach((item, index) => out.line(0, index === 0 ? `${title}:` : "", item));
}

export function labelLines(out: Description, object: JsonObject): void {
  mapLines(out, "Labels", objectAt(object, "metadata", "labels"));
}

export function annotationLines(out: Description, object: JsonObject): void {
  const all = sortedEntries(objectAt(object, "metadata", "annotations")).filter(
    ([key]) => key !== SKIPPED,
  );
  const lines = all.flatMap(([key, written]) => {
    const value = written.replace(/\n$/, "");
    if (key.length + value.length + 2 <= ANNOTATION_WIDTH && !value.includes("\n"))
      return [`${key}: ${value}`];
    return [`${key}:`, ...value.split("\n").map((line) => `  ${shortened(line)}`)];
  });
  listLines(out, "Annotations", lines);
}

function shortened(line: string): string {
  const width = ANNOTATION_WIDTH - 2;
  return line.length > width ? `${line.slice(0, width)}...` : line;
}

/** Go's RFC1123Z in UTC: `Mon, 02 Jan 2006 15:04:05 +0000`; "" of an unknown time. */
export function longTime(time: string): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? "" : new Date(at).toUTCString().replace("GMT", "+0000");
}

export function orNone(text: string): string {
  return text === "" ? "<none>" : text;
}

export function eventLines(out: Description, { events, now }: Described): void {
  if (events.length === 0) return out.line(0, "Events:", "<none>");
  out.align();
  const sorted = events.toSorted((a, b) => lastOf(a) - lastOf(b));
  out.line(0, "Events:");
  out.line(1, "Type", "Reason", "Age", "From", "Message");
  out.line(1, "----", "------", "----", "----", "-------");
  for (const event of sorted) {
    const first = age(textAt(event, "firstTimestamp"), now);
    const count = Number(textAt(event, "count"));
    const when =
      count > 1 ? `${age(textAt(event, "lastTimestamp"), now)} (x${count} over ${first})` : first;
    const from = textAt(event, "source", "component");
    const message = textAt(event, "message").trim();
    out.line(1, textAt(event, "type"), textAt(event, "reason"), when, from, message);
  }
}

function lastOf(event: JsonObject): number {
  return Date.parse(textAt(event, "lastTimestamp"));
}

export function conditionsOf(object: JsonObject): readonly JsonObject[] {
  return listAt(object, "status", "conditions");
}
