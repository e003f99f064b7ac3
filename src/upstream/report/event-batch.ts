// Which parts of an event are published; its number and the rest of the batch are added when it is sent.

import type { EventContent, EventObject, NewEvent, RecordedEvent } from "../../api/v1/events.ts";
import type { MessageNumber } from "../../protocol/reported-state.ts";
import type { DroppedEvents } from "../../store/outbox/event-ring.ts";
import { rfc3339 } from "../../lib/clock.ts";
import { jsonBytes, wireText } from "../../protocol/wire-text.ts";

/** One of `events` in an EventBatch. */
export interface WireEvent extends EventContent {
  /** Only grows inside one incarnation. */
  readonly n: number;
  readonly time: string;
  /** The boot in which it happened: within one, the order of `n` is the order in time. */
  readonly boot: string;
  readonly object: Pick<EventObject, "kind" | "namespace" | "name">;
  /** Absent = once. */
  readonly count?: number;
}

export type EventOrigin = Pick<MessageNumber, "incarnation" | "session">;

/** What is published on `<R>/node/<n>/event`. */
export interface EventBatch extends EventOrigin {
  readonly events: readonly WireEvent[];
}

/** The event as the outbox keeps it: without `n`, which is the number of its row. */
export function eventPayload(event: RecordedEvent, boot: string): Uint8Array {
  const { type, reason, count, last } = event;
  const { kind, namespace, name } = event.object;
  const wire: Omit<WireEvent, "n"> = {
    time: rfc3339(last),
    boot,
    type,
    reason: wireText(reason),
    object: namespace === undefined ? { kind, name } : { kind, namespace, name },
    message: wireText(event.message),
    ...(count > 1 ? { count } : {}),
  };
  return jsonBytes(wire);
}

/** Reports how many events were dropped. */
export function gapEvent({ Normal, Warning }: DroppedEvents, node: string): NewEvent {
  const message = `${Normal} Normal and ${Warning} Warning events were dropped before they were published`;
  const object = { kind: "Node", name: node };
  return { type: "Warning", reason: "EventsDropped", object, message };
}
