// The recent events of this node as a v1 EventList.

import type { RecordedEvent } from "../api/v1/events.ts";
import { rfc3339 } from "../lib/clock.ts";

/** An event with the name of this node. */
export interface EventEntry extends RecordedEvent {
  readonly host: string;
}

/** In the order given. */
export function eventList(entries: readonly EventEntry[]) {
  return { kind: "EventList", apiVersion: "v1", metadata: {}, items: entries.map(v1Event) };
}

export function v1Event(entry: EventEntry) {
  const { id, object, type, reason, message, count, first, last, host } = entry;
  return {
    kind: "Event",
    apiVersion: "v1",
    metadata: {
      // The id alone would repeat in the next process.
      name: `${object.name}.${first.toString(16)}.${id.toString(16)}`,
      // Kubernetes' namespace for events of objects without one.
      namespace: object.namespace ?? "default",
      creationTimestamp: rfc3339(first),
    },
    // kubelet: the UID of a node is its name in events, by which kubectl describe node finds them.
    involvedObject: {
      ...object,
      ...(object.kind === "Node" ? { uid: object.name } : {}),
      apiVersion: "v1",
    },
    reason,
    message,
    source: { component: "agent", host },
    firstTimestamp: rfc3339(first),
    lastTimestamp: rfc3339(last),
    count,
    type,
  };
}
