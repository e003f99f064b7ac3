import { describe, expect, test } from "bun:test";
import fc from "fast-check";

import { nextAction, parseStep, percentsOf } from "../../../../src/fleet/rollout/plan-rollout.ts";
import { viewOf } from "../../../../src/fleet/rollout/rollout-view.ts";
import type { KnownNode } from "../../../../src/fleet/known-nodes.ts";
import { readReport, readState } from "../../../../src/fleet/node-report.ts";
import type { RolloutOrder } from "../../../../src/protocol/rollout-order.ts";
import { isWithin, placeOf } from "../../../../src/protocol/rollout-order.ts";
import { sha256 } from "../../api/digest.ts";

const PUBLISHED = { source: "group/g", epoch: "", generation: 2, digest: "sha256:new" };
const PLAN = { steps: [10, 100], bakeSeconds: 60, maxFailures: 10 };
const ISSUED = Date.UTC(2026, 10, 21, 8);

function order(fields: Partial<RolloutOrder> = {}): RolloutOrder {
  return {
    group: "g",
    epoch: "",
    generation: 2,
    percent: 100,
    match: {},
    paused: false,
    salt: "s",
    issuedAt: ISSUED,
    ...fields,
  };
}

const bytes = (value: object): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

/** `code` 0 = it has the generation before. */
function aNode(name: string, code: number, more: object = {}, state = "online"): KnownNode {
  const before = { generation: 1, digest: "sha256:old", phase: "Healthy", code: 200 };
  const now = { generation: 2, digest: "sha256:new", phase: "P", code };
  const ack = { source: "group/g", epoch: "", ...(code === 0 ? before : now), ...more };
  return {
    name,
    state: readState(bytes({ state, incarnation: "i", session: 1 })),
    report: readReport(bytes({ kind: "ReportedState", desired: [ack] })),
  };
}

function view(members: readonly KnownNode[], present: RolloutOrder | undefined = order()) {
  return viewOf({ published: PUBLISHED, order: present, members, sha256 });
}

const stageOf = (node: KnownNode, present?: RolloutOrder) => view([node], present).nodes[0]?.stage;
const refused = (code: number, message: string) => ({
  lastRejected: { digest: "sha256:new", code, message, at: "", count: 1 },
});

describe("what a node does", () => {
  test.each([
    ["Healthy", aNode("a", 200)],
    ["Updating", aNode("a", 202)],
    ["Failed", aNode("a", 424)],
    ["Held", aNode("a", 423)],
    ["Updating", aNode("a", 0)],
    ["Updating", aNode("a", 0, refused(423, "waits"))],
    ["Failed", aNode("a", 0, refused(400, "is invalid"))],
    ["Away", aNode("a", 0, {}, "lost")],
    ["Healthy", aNode("a", 200, {}, "lost")],
    ["Away", aNode("a", 202, {}, "lost")],
    ["Failed", aNode("a", 424, {}, "lost")],
  ] as const)("%s", (stage, node) => {
    expect(stageOf(node)).toBe(stage);
  });

  test("it waits while its turn has not come, and without a Rollout of the generation", () => {
    expect(stageOf(aNode("a", 0), order({ percent: 0 }))).toBe("Waiting");
    expect(stageOf(aNode("a", 0), order({ generation: 1 }))).toBe("Waiting");
    expect(stageOf(aNode("a", 0, refused(400, "is invalid")), order({ percent: 0 }))).toBe(
      "Failed",
    );
  });

  test("it is excluded if it lacks a label", () => {
    const node = aNode("a", 0, refused(423, "its Rollout is for nodes with the label x=y"));
    expect(stageOf(node, order({ match: { x: "y" } }))).toBe("Excluded");
  });
});

describe("what comes next", () => {
  const after = ISSUED + 60_000;
  const next = (members: readonly KnownNode[], present?: RolloutOrder, now = after) =>
    nextAction(view(members, present), PLAN, now);

  test("the first step", () => {
    const none = viewOf({ published: PUBLISHED, order: undefined, members: [], sha256 });
    expect(nextAction(none, PLAN, 0)).toEqual({ type: "Raise", percent: 10 });
  });

  test("the next step once all are healthy and it has baked, and the end", () => {
    const low = order({ percent: 99.99 });
    expect(next([aNode("a", 200)], low)).toEqual({ type: "Raise", percent: 100 });
    expect(next([aNode("a", 200)], low, after - 1)).toEqual({ type: "Wait", untilMs: after });
    expect(next([aNode("a", 202)], low)).toEqual({ type: "Wait" });
    expect(next([aNode("a", 200)])).toEqual({ type: "Done" });
  });

  test("nodes that cannot update delay nothing", () => {
    const members = [aNode("a", 200), aNode("b", 423), aNode("c", 0, {}, "lost")];
    expect(next(members)).toEqual({ type: "Done" });
  });

  test("a stop beyond the share, not at it, also while others still update", () => {
    const some = (failed: number, of: number) =>
      Array.from({ length: of }, (_, index) => aNode(`n${index}`, index < failed ? 424 : 202));
    expect(next(some(1, 10))).toEqual({ type: "Wait" });
    expect(next(some(2, 10))).toMatchObject({ type: "Stop" });
    const stop = next(some(2, 10));
    expect(stop.type === "Stop" && stop.reason).toContain("2 nodes have failed, 20 %");
  });

  test("nothing while it is paused", () => {
    expect(next([aNode("a", 424)], order({ paused: true }))).toEqual({
      type: "Paused",
      reason: "by an operator",
    });
  });
});

/** How many of the nodes a percent has. */
function countWithin(percent: number, members: readonly string[]): number {
  return members.filter((name) => isWithin(placeOf(name, "s", sha256), percent)).length;
}

describe("steps", () => {
  test.each([
    ["3", { nodes: 3 }],
    ["2.5%", { percent: 2.5 }],
    ["100%", { percent: 100 }],
    ["0", undefined],
    ["0%", undefined],
    ["101%", undefined],
    ["1.5", undefined],
    ["many", undefined],
  ])("%s", (written, step) => expect(parseStep(written)).toEqual(step));

  test("a number of nodes is the least percent with so many, and steps rise", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 80 }),
        (count, nodes) => {
          const members = Array.from({ length: count }, (_, index) => `n${index}`);
          const facts = { members, salt: "s", sha256 };
          const [percent = 0] = percentsOf([{ nodes }], facts);
          const within = countWithin(percent, members);
          expect(within).toBeGreaterThanOrEqual(Math.min(nodes, count));
          if (nodes <= count)
            expect(countWithin(percent - 0.01, members)).toBeLessThan(Math.max(nodes, 1));
          const all = percentsOf([{ percent: 50 }, { nodes: 1 }, { percent: 100 }], facts);
          expect([...all]).toEqual([...new Set(all)].toSorted((a, b) => a - b));
        },
      ),
    );
  });
});
