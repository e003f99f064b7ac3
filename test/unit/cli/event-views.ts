// Events as the local API shows them, for table tests.

import type { EventView } from "../../../src/node/api-views.ts";

export interface EventParts extends Partial<Omit<EventView, "metadata" | "involvedObject">> {
  readonly name?: string;
  readonly namespace?: string;
  readonly about?: EventView["involvedObject"];
}

export function anEvent({ name, namespace, about, ...over }: EventParts = {}): EventView {
  return {
    kind: "Event",
    metadata: { name: name ?? "web.19b.1", namespace: namespace ?? "default" },
    involvedObject: about ?? { kind: "Pod", name: "web" },
    type: "Normal",
    reason: "Pulled",
    message: "Container image already present on machine",
    count: 1,
    firstTimestamp: "2026-01-01T00:10:00Z",
    lastTimestamp: "2026-01-01T00:10:00Z",
    source: { component: "agent", host: "pi-1" },
    ...over,
  };
}
