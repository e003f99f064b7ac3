import { expect, test } from "bun:test";
import fc from "fast-check";
import { inPackets, nodeFilters, nodesOf } from "../../../src/fleet/fleet-topics.ts";
import { ulid } from "../../../src/fleet/ulid.ts";

test("named nodes are asked for by name, others by wildcard", () => {
  expect(nodeFilters("agent/v1", undefined, ["state", "reported"])).toEqual([
    "agent/v1/node/+/state",
    "agent/v1/node/+/reported",
  ]);
  expect(nodeFilters("x", ["a", "b"], ["event"])).toEqual(["x/node/a/event", "x/node/b/event"]);
});

test("no SUBSCRIBE holds more than eight filters, and none is lost or asked for twice", () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (filters) => {
      const packets = inPackets(filters);
      for (const packet of packets) expect(packet.length).toBeWithin(1, 9);
      expect(packets.flat()).toEqual([...new Set(filters)]);
    }),
  );
});

test("only topics of nodes name nodes", () => {
  const topics = [
    "r/node/b/state",
    "r/node/a/reported/pod/x/y",
    "r/group/g/desired",
    "r/node/a/state",
    "other",
  ];
  expect(nodesOf("r", topics)).toEqual(["a", "b"]);
});

test("a ULID is 26 characters that sort by time", () => {
  expect(ulid(0, "00".repeat(10))).toBe("0".repeat(26));
  expect(ulid(2 ** 48 - 1, "ff".repeat(10))).toBe(`7${"Z".repeat(25)}`);
  expect(ulid(1_469_918_176_385, "00".repeat(10))).toStartWith("01ARYZ6S41");
});
