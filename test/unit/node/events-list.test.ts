import { expect, test } from "bun:test";
import { isEvent, isListOf } from "../../../src/node/api-views.ts";
import { eventList, type EventEntry } from "../../../src/node/events-list.ts";

const ENTRY: EventEntry = {
  id: 255,
  type: "Warning",
  reason: "BackOff",
  object: {
    kind: "Pod",
    namespace: "shop",
    name: "web",
    uid: "u-1",
    fieldPath: "spec.containers{a}",
  },
  message: "Back-off restarting failed container",
  count: 3,
  first: 1_000,
  last: 61_000,
  host: "pi-1",
};

test("is a v1 EventList that the command line understands", () => {
  const list = eventList([ENTRY]);
  expect<unknown>(list).toEqual({
    kind: "EventList",
    apiVersion: "v1",
    metadata: {},
    items: [
      {
        kind: "Event",
        apiVersion: "v1",
        metadata: {
          name: "web.3e8.ff",
          namespace: "shop",
          creationTimestamp: "1970-01-01T00:00:01Z",
        },
        involvedObject: {
          kind: "Pod",
          namespace: "shop",
          name: "web",
          uid: "u-1",
          apiVersion: "v1",
          fieldPath: "spec.containers{a}",
        },
        reason: "BackOff",
        message: "Back-off restarting failed container",
        source: { component: "agent", host: "pi-1" },
        firstTimestamp: "1970-01-01T00:00:01Z",
        lastTimestamp: "1970-01-01T00:01:01Z",
        count: 3,
        type: "Warning",
      },
    ],
  });
  expect(isListOf(isEvent)(JSON.parse(JSON.stringify(list)))).toBe(true);
});

test("keeps the events of the node in default, as Kubernetes does", () => {
  const [event] = eventList([{ ...ENTRY, object: { kind: "Node", name: "pi-1" } }]).items;
  expect(event?.metadata.namespace).toBe("default");
  expect<unknown>(event?.involvedObject).toEqual({
    kind: "Node",
    name: "pi-1",
    uid: "pi-1",
    apiVersion: "v1",
  });
});
