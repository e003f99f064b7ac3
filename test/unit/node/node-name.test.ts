import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { isTopicName } from "../../../src/protocol/mqtt-topics.ts";
import { resolveNodeName, type BoardFacts } from "../../../src/node/identity/node-name.ts";

const board: BoardFacts = {
  hostname: "raspberrypi",
  serial: "10000000ABCDEF12",
  machineId: "0123456789abcdef0123456789abcdef",
  mac: "DC:A6:32:01:02:03",
};

function nameOf(template: string | undefined, facts: Partial<BoardFacts> = {}): string {
  const result = resolveNodeName(template, { ...board, ...facts });
  return result.ok ? result.value : `error: ${result.errors[0]?.message}`;
}

describe("resolveNodeName", () => {
  const cases: Record<string, readonly [string | undefined, Partial<BoardFacts>, string]> = {
    "adds six digits of the serial to a factory name": [undefined, {}, "raspberrypi-cdef12"],
    "takes the machine-id on a board without serial": [
      undefined,
      { serial: "", hostname: "Debian" },
      "debian-abcdef",
    ],
    "keeps a factory name when no identifier is available": [
      undefined,
      { serial: "", machineId: "" },
      "raspberrypi",
    ],
    "uses a configured hostname": [undefined, { hostname: "Kiosk-Berlin" }, "kiosk-berlin"],
    "calls a machine without hostname node": [undefined, { hostname: "" }, "node-cdef12"],
    "replaces what may not stand in a topic": [
      undefined,
      { hostname: "Küche_links." },
      "k-che-links",
    ],
    "takes a plain name of the configuration": ["pi-1", {}, "pi-1"],
    "fills a template": ["${hostname}.${serial}", {}, "raspberrypi.10000000abcdef12"],
    "fills in the mac": ["cam-${mac}", {}, "cam-dc-a6-32-01-02-03"],
    "cuts at 63 characters, not ending in a dash": [`${"a".repeat(62)}-b`, {}, "a".repeat(62)],
    "refuses an unknown variable": [
      "${host}",
      {},
      "error: unknown variable ${host}; use one of hostname, serial, machineId, mac",
    ],
    "refuses a variable this board does not have": [
      "pi-${serial}",
      { serial: "" },
      "error: this machine has no serial; use another variable or a plain name",
    ],
    "refuses a name of which nothing is left": ["---", {}, 'error: "---" leaves no usable name'],
  };
  test.each(Object.entries(cases))("%s", (_, [template, facts, expected]) => {
    expect(nameOf(template, facts)).toBe(expected);
  });

  test("gives a name that may stand in a topic, or an error, and names itself", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 80 });
    fc.assert(
      fc.property(text, text, (hostname, template) => {
        for (const given of [undefined, template]) {
          const result = resolveNodeName(given, { hostname, serial: "0000beef" });
          if (!result.ok) continue;
          expect(isTopicName(result.value)).toBe(true);
          expect(resolveNodeName(result.value, { hostname })).toMatchObject({
            value: result.value,
          });
        }
      }),
    );
  });
});

describe("a copy of a prepared image", () => {
  const image = { hostname: "gateway", machineId: "aaaa", chance: "c0ffee" };
  const named = (facts: BoardFacts): string => {
    const result = resolveNodeName(undefined, facts, image);
    return result.ok ? result.value : "error";
  };
  const cases: Record<string, readonly [facts: BoardFacts, name: string]> = {
    "has the serial of its board in its name": [
      { hostname: "Gateway", serial: "10000000abcdef12", machineId: "aaaa" },
      "gateway-cdef12",
    ],
    "takes a machine ID that the image did not have": [
      { hostname: "gateway", machineId: "0123456789abcdef" },
      "gateway-abcdef",
    ],
    "takes none that all copies have, but a chance": [
      { hostname: "gateway", machineId: "aaaa" },
      "gateway-c0ffee",
    ],
    "takes a chance also for a factory name": [
      { hostname: "debian", machineId: "aaaa" },
      "debian-c0ffee",
    ],
    "needs no suffix once it has a hostname of its own": [
      { hostname: "kiosk", machineId: "aaaa" },
      "kiosk",
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [facts, name]) => expect(named(facts)).toBe(name));
});
