import { describe, expect, test } from "bun:test";
import type { RolloutPlan } from "../../../../src/protocol/rollout-order.ts";
import {
  STAGES,
  type NodeProgress,
  type Stage,
} from "../../../../src/fleet/rollout/rollout-view.ts";
import {
  RecentEvents,
  MAX_EVENTS,
  MAX_EVENT_NODES,
} from "../../../../src/fleet/ui/recent-events.ts";
import { MAX_LOG, orderText, RolloutLog } from "../../../../src/fleet/ui/rollout-log.ts";
import {
  MAX_FAILED,
  MAX_STEPS,
  rolloutRow,
  type RolloutRow,
} from "../../../../src/fleet/ui/rollout-row.ts";

const NOW = Date.UTC(2026, 10, 21, 8);
const PUBLISHED = { source: "group/kiosks", epoch: "", generation: 2, digest: "sha256:new" };
const PLAN: RolloutPlan = { steps: [10, 50, 100], bakeSeconds: 600, maxFailures: 20 };
const ORDER = {
  apiVersion: "agent/v1",
  kind: "Rollout",
  group: "kiosks",
  epoch: "",
  generation: 2,
  percent: 50,
  match: {},
  paused: false,
  salt: "s",
  issuedAt: NOW,
  plan: PLAN,
} as const;

interface Given {
  readonly order?: object | undefined;
  readonly plan?: Partial<RolloutPlan>;
  readonly stages?: readonly Stage[];
  readonly now?: number;
  readonly isStaged?: boolean;
}

/** Ten nodes, one in each tenth of the group. */
function row(given: Given = {}): RolloutRow {
  const { stages = Array.from({ length: 10 }, () => "Healthy" as const), now = NOW } = given;
  const nodes = stages.map((stage, index): NodeProgress => {
    return {
      name: `n${index}`,
      place: (index * 100) / stages.length,
      stage,
      message: "m".repeat(300),
    };
  });
  const counts = Object.fromEntries(
    STAGES.map((stage) => [stage, nodes.filter((node) => node.stage === stage).length]),
  ) as Record<Stage, number>;
  const failures = (100 * counts.Failed) / Math.max(1, stages.length);
  const order =
    "order" in given && given.order === undefined
      ? undefined
      : { ...ORDER, plan: { ...PLAN, ...given.plan }, ...given.order };
  const view = { published: PUBLISHED, order, nodes, counts, failures };
  return rolloutRow({
    group: "kiosks",
    published: PUBLISHED,
    isStaged: given.isStaged ?? true,
    view,
    now,
  });
}

describe("the row of a rollout", () => {
  test("has each step with the number of its nodes, and which one it is at", () => {
    expect(row().steps).toEqual([
      { percent: 10, nodes: 1, place: "past" },
      { percent: 50, nodes: 5, place: "present" },
      { percent: 100, nodes: 10, place: "future" },
    ]);
  });

  test("shows a percent that no step has as a step", () => {
    const { steps } = row({ order: { percent: 30 } });
    expect(steps.map(({ percent, place }) => `${percent} ${place}`)).toEqual([
      "10 past",
      "30 present",
      "50 future",
      "100 future",
    ]);
  });

  const phases: Readonly<Record<string, readonly [Given, Partial<RolloutRow>]>> = {
    "waits for its first step without a Rollout": [
      { order: undefined },
      { phase: "Waiting", percent: 0, steps: [] },
    ],
    "updates while a node does": [
      { stages: ["Healthy", "Updating"] },
      { phase: "Updating", until: "" },
    ],
    "bakes until its time has passed": [{}, { phase: "Baking", until: "2026-11-21T08:10:00Z" }],
    "is due for the next step then": [{ now: NOW + 600_000 }, { phase: "Due", until: "" }],
    "is done when the last step has baked": [
      { order: { percent: 100 }, now: NOW + 600_000 },
      { phase: "Done", percent: 100 },
    ],
    "fails when too many nodes have failed": [
      { stages: ["Failed", "Healthy"] },
      { phase: "Failing", failures: 50, maxFailures: 20 },
    ],
    "is paused with its reason": [
      { order: { paused: true }, plan: { reason: "by an operator" } },
      { phase: "Paused", reason: "by an operator" },
    ],
    "is for all at once if it is not staged": [
      { isStaged: false },
      { phase: "AtOnce", percent: 100, steps: [], reason: "" },
    ],
  };
  test.each(Object.entries(phases))("%s", (_, [given, expected]) => {
    expect(row(given)).toMatchObject(expected);
  });

  test("keeps what nodes and operators have written short", () => {
    const failed = Array.from({ length: MAX_FAILED + 1 }, () => "Failed" as const);
    const many = row({
      stages: failed,
      plan: { steps: Array.from({ length: 99 }, (_, one) => one) },
    });
    expect(many.failed.length).toBe(MAX_FAILED);
    expect(many.failed[0]?.message.length).toBe(200);
    expect(many.counts.Failed).toBe(MAX_FAILED + 1);
    expect(many.steps.length).toBe(MAX_STEPS);
  });
});

describe("the history of a rollout", () => {
  test("has what happened once, and the newest lines", () => {
    const log = new RolloutLog();
    log.add("kiosks", "one", NOW);
    log.add("kiosks", "one", NOW + 1_000);
    expect(log.of("kiosks")).toEqual([{ time: "2026-11-21T08:00:00Z", text: "one" }]);
    for (let index = 0; index <= MAX_LOG; index += 1) log.add("kiosks", `line ${index}`, NOW);
    expect(log.of("kiosks").length).toBe(MAX_LOG);
    expect(log.of("kiosks").at(-1)?.text).toBe(`line ${MAX_LOG}`);
    expect(log.of("doors")).toEqual([]);
  });

  test("says how far it was released, by whom, and why it was paused", () => {
    const plan = { ...PLAN, operator: "7d74" };
    expect(orderText({ ...ORDER, plan })).toBe("generation 2 is released for 50 % (operator 7d74)");
    expect(orderText({ ...ORDER, paused: true, plan: { ...PLAN, reason: "taken back" } })).toBe(
      "generation 2 is paused at 50 %: taken back",
    );
  });
});

describe("the last events", () => {
  const event = (message: string) => ({
    time: "",
    type: "Normal",
    reason: "",
    object: "",
    namespace: "",
    message,
    count: 1,
  });

  test("are newest first, and so many of a node", () => {
    const events = new RecentEvents();
    events.add("pi-1", [event("first"), event("second")]);
    events.add("pi-1", [event("third")]);
    expect(events.of("pi-1").map(({ message }) => message)).toEqual(["third", "second", "first"]);
    events.add(
      "pi-1",
      Array.from({ length: 2 * MAX_EVENTS }, () => event("more")),
    );
    expect(events.of("pi-1").length).toBe(MAX_EVENTS);
  });

  test("are those of the nodes that published last", () => {
    const events = new RecentEvents();
    for (let index = 0; index <= MAX_EVENT_NODES; index += 1) {
      events.add("busy", [event("x")]);
      events.add(`n${index}`, [event("x")]);
    }
    expect(events.of("n0")).toEqual([]);
    expect(events.of("busy").length).toBe(MAX_EVENTS);
  });
});
