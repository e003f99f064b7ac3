import { expect, test } from "bun:test";

import { summaryLine } from "../../../src/fleet/get-tables.ts";
import type { KnownNode } from "../../../src/fleet/known-nodes.ts";
import { readReport } from "../../../src/fleet/node-report.ts";

function online(name: string, ...acks: readonly object[]): KnownNode {
  const report = {
    kind: "ReportedState",
    desired: acks.map((ack) => ({ source: "node", epoch: "", generation: 7, digest: "d", ...ack })),
    status: { conditions: [{ type: "Ready", status: "True" }] },
  };
  return {
    name,
    state: { state: "online", incarnation: "i", session: 1 },
    report: readReport(new TextEncoder().encode(JSON.stringify(report))),
  };
}

const well = { phase: "Healthy", code: 200 };

test("held and superseded updates do not count as trouble", () => {
  const nodes = [
    online("well", well),
    online("held", { phase: "Held", code: 423 }),
    online("overtaken", { phase: "Progressing", code: 202 }, { phase: "Superseded", code: 410 }),
  ];
  expect(summaryLine(nodes)).toBe("3 nodes: 3 online, 0 away; 0 in trouble");
});

test("a document that was taken back, and one that fails, are", () => {
  const back = online("back", { phase: "RolledBack", code: 424 });
  const fails = online("fails", { phase: "Degraded", code: 424 });
  expect(summaryLine([online("well", well), back, fails])).toBe(
    "3 nodes: 3 online, 0 away; 2 in trouble",
  );
});
