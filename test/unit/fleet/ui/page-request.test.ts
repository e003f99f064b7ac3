import { expect, test } from "bun:test";
import { aboutPage } from "../../../../src/fleet/ui/about-page.ts";
import { orderOf, type PageOrder } from "../../../../src/fleet/ui/page-request.ts";

const UNDO = "/api/rollout/kiosks/undo";
const LOGS = "/api/node/pi-1/logs";
const SEEN = { generation: 2, percent: 10 };

const CASES: readonly (readonly [string, string, unknown, PageOrder | undefined])[] = [
  [
    "an undo is of the generation and percent that were seen",
    UNDO,
    SEEN,
    { type: "Rollout", group: "kiosks", change: "undo", seen: SEEN },
  ],
  [
    "a pause is right however far it is",
    "/api/rollout/kiosks/pause",
    SEEN,
    { type: "Rollout", group: "kiosks", change: "pause", seen: { generation: 2 } },
  ],
  ["an order without a generation is none", UNDO, { percent: 10 }, undefined],
  ["a generation is a whole number", UNDO, { ...SEEN, generation: 1.5 }, undefined],
  ["a percent ends at 100", UNDO, { ...SEEN, percent: 101 }, undefined],
  ["a group is no level of a topic of its own", "/api/rollout/%2Fa/undo", SEEN, undefined],
  ["a text is no order", UNDO, "undo", undefined],
  [
    "a log is of a pod",
    LOGS,
    { namespace: "default", pod: "web" },
    { type: "Log", node: "pi-1", namespace: "default", pod: "web", container: undefined },
  ],
  [
    "a log may be of a container",
    LOGS,
    { namespace: "default", pod: "web", container: "main" },
    { type: "Log", node: "pi-1", namespace: "default", pod: "web", container: "main" },
  ],
  ["a wildcard is no pod", LOGS, { namespace: "default", pod: "+" }, undefined],
  ["a log needs a namespace", LOGS, { pod: "web" }, undefined],
];

test.each(CASES)("%s", (_, path, body, order) => {
  expect(orderOf(path, body)).toEqual(order);
});

test("the commands to type lead to the same broker, whatever its files are called", () => {
  const flags = { url: "mqtt://broker.lan", caFile: "it's ca.pem", history: "h" };
  expect(aboutPage(flags)).toEqual({
    isReadOnly: true,
    flags: "--url mqtt://broker.lan --ca-file 'it'\\''s ca.pem'",
  });
  expect(aboutPage({ ...flags, key: ["k.pem"] }).isReadOnly).toBe(false);
});
