import { describe, expect, test } from "bun:test";
import { UsageError } from "../../../../src/cli/exit-codes.ts";
import { readQuery, selectObjects } from "../../../../src/cli/get/select-objects.ts";
import { headerOf, rowOf } from "../../../../src/cli/get/resource-type.ts";
import { EVENTS } from "../../../../src/cli/get/resources.ts";
import { columnWidths, formatRows } from "../../../../src/cli/terminal-text.ts";
import { anEvent } from "../event-views.ts";

const NOW = Date.parse("2026-01-01T00:12:00Z");

const again = anEvent({
  type: "Warning",
  reason: "BackOff",
  about: { kind: "Pod", name: "crash", fieldPath: "spec.containers{a}" },
  message: "Back-off restarting\u001b[2J failed container\n",
  count: 7,
  firstTimestamp: "2026-01-01T00:00:00Z",
  lastTimestamp: "2026-01-01T00:11:30Z",
});

test("a table looks like kubectl's", () => {
  const view = { isWide: false, withNamespace: false, now: NOW };
  const rows = [
    headerOf(EVENTS, view),
    ...[anEvent(), again].map((one) => rowOf(EVENTS, one, view)),
  ];
  expect(formatRows(rows, columnWidths(rows))).toBe(
    [
      "LAST SEEN           TYPE      REASON    OBJECT      MESSAGE",
      "2m                  Normal    Pulled    pod/web     Container image already present on machine",
      "30s (x7 over 12m)   Warning   BackOff   pod/crash   Back-off restarting\\u001b[2J failed container",
      "",
    ].join("\n"),
  );
});

test("the wide table of all namespaces has everything", () => {
  const view = { isWide: true, withNamespace: true, now: NOW };
  expect(headerOf(EVENTS, view)).toEqual([
    "NAMESPACE",
    "LAST SEEN",
    "TYPE",
    "REASON",
    "OBJECT",
    "SUBOBJECT",
    "SOURCE",
    "MESSAGE",
    "FIRST SEEN",
    "COUNT",
    "NAME",
  ]);
  expect(rowOf(EVENTS, again, view)).toEqual([
    "default",
    "30s",
    "Warning",
    "BackOff",
    "pod/crash",
    "spec.containers{a}",
    "agent, pi-1",
    "Back-off restarting\u001b[2J failed container",
    "12m",
    "7",
    "web.19b.1",
  ]);
});

describe("a query", () => {
  const shop = anEvent({ name: "db.1", namespace: "shop", about: { kind: "Pod", name: "db" } });
  const node = anEvent({ name: "pi.1", about: { kind: "Node", name: "web" } });
  const all = [anEvent(), shop, node];
  const names = (name: string | undefined, flags: Parameters<typeof readQuery>[2]) =>
    selectObjects(EVENTS, all, readQuery(EVENTS, name, flags)).map(({ metadata }) => metadata.name);

  const cases: Readonly<Record<string, readonly [found: readonly string[], expected: string[]]>> = {
    "without anything is for the default namespace": [names(undefined, {}), ["web.19b.1", "pi.1"]],
    "for a namespace": [names(undefined, { namespace: "shop" }), ["db.1"]],
    "for all": [names(undefined, { allNamespaces: true }), ["web.19b.1", "db.1", "pi.1"]],
    "for a pod": [names(undefined, { for: "pod/web" }), ["web.19b.1"]],
    "for a pod, written otherwise": [names(undefined, { for: "Pods/web" }), ["web.19b.1"]],
    "for a pod of another namespace": [names(undefined, { for: "pod/db" }), []],
    "for the node, wherever one looks": [
      names(undefined, { for: "no/web", namespace: "shop" }),
      ["pi.1"],
    ],
    "for one by name": [names("event/pi.1", {}), ["pi.1"]],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [found, expected]) => {
    expect(found).toEqual(expected);
  });

  test.each(["web", "pod/", "/web", "service/web"])("for %s is refused", (text) => {
    expect(() => readQuery(EVENTS, undefined, { for: text })).toThrow(UsageError);
  });

  test("for a name in all namespaces is refused", () => {
    expect(() => readQuery(EVENTS, "web.1", { allNamespaces: true })).toThrow(UsageError);
  });
});
