// Decides the events about the node itself: its start, its runtime, and what its sources reject.

import type { Rejection } from "../api/pod/desired-pod.ts";
import type { EventObject, EventType, NewEvent } from "../api/v1/events.ts";

/** An event about the node. */
export function nodeEvent(
  node: string,
  event: Pick<NewEvent, "type" | "reason" | "message">,
): NewEvent {
  return { ...event, object: { kind: "Node", name: node } };
}

/** One event for each new rejection; none for what stays or goes. */
export function rejectionEvents(
  before: readonly Rejection[],
  after: readonly Rejection[],
  node: string,
): readonly NewEvent[] {
  const known = new Set(before.map(keyOf));
  const fresh = new Map(after.map((rejection) => [keyOf(rejection), rejection] as const));
  return [...fresh]
    .filter(([key]) => !known.has(key))
    .map(([, rejection]) => rejectionEvent(rejection, node));
}

function keyOf({ ref, path, code, message }: Rejection): string {
  return JSON.stringify([ref, path, code, message]);
}

function rejectionEvent(rejection: Rejection, node: string): NewEvent {
  const { ref, line, path, message } = rejection;
  const where = [line === undefined ? ref : `${ref}:${line}`, path].filter((part) => part !== "");
  const event = { ...verdictOn(rejection), message: `${where.join(": ")}: ${message}` };
  return { ...event, object: objectOf(rejection, node) };
}

/** Only what does not run as it is written deserves a warning. */
function verdictOn({ code }: Rejection): { readonly type: EventType; readonly reason: string } {
  if (code === "Shadowed" || code === "Ignored") return { type: "Normal", reason: code };
  return { type: "Warning", reason: "Rejected" };
}

/** The pod, where the manifest could be read so far. */
function objectOf({ kind, namespace, name }: Rejection, node: string): EventObject {
  if (kind !== "Pod" || name === undefined) return { kind: "Node", name: node };
  return { kind, namespace: namespace ?? "default", name };
}
