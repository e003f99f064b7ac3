// Events as rows, in kubectl's columns.

import type { EventView } from "../api-views.ts";
import { age } from "./pod-table.ts";
import type { Row } from "../table.ts";

export interface EventColumns {
  /** SUBOBJECT, SOURCE, FIRST SEEN, COUNT and NAME as well. */
  readonly wide: boolean;
  /** NAMESPACE first. */
  readonly namespaces: boolean;
}

export function eventHeader({ wide, namespaces }: EventColumns): Row {
  const first = namespaces ? ["NAMESPACE"] : [];
  const common = [...first, "LAST SEEN", "TYPE", "REASON", "OBJECT"];
  if (!wide) return [...common, "MESSAGE"];
  return [...common, "SUBOBJECT", "SOURCE", "MESSAGE", "FIRST SEEN", "COUNT", "NAME"];
}

/** One event's row; `now` is wall-clock ms, for the ages only. */
export function eventRow(event: EventView, columns: EventColumns, now: number): Row {
  const { metadata, involvedObject, type, reason, message } = event;
  const common = [
    ...(columns.namespaces ? [metadata.namespace ?? "default"] : []),
    lastSeen(event, columns, now),
    type,
    reason,
    `${involvedObject.kind.toLowerCase()}/${involvedObject.name}`,
  ];
  if (!columns.wide) return [...common, message.trim()];
  return [
    ...common,
    involvedObject.fieldPath ?? "",
    [event.source?.component, event.source?.host].filter((word) => word !== undefined).join(", "),
    message.trim(),
    age(event.firstTimestamp, now),
    `${event.count}`,
    metadata.name,
  ];
}

/** What makes an event worth printing again. */
export function eventIdentity({ count, lastTimestamp, message }: EventView): string {
  return JSON.stringify([count, lastTimestamp, message]);
}

/** kubectl events: how often since when; the wide table has columns for that. */
function lastSeen(event: EventView, { wide }: EventColumns, now: number): string {
  const last = age(event.lastTimestamp, now);
  if (wide || event.count <= 1) return last;
  return `${last} (x${event.count} over ${age(event.firstTimestamp, now)})`;
}
