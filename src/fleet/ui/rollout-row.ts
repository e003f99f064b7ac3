// The rollout of one group as the page of the fleet shows it: its steps, what comes next, and what the nodes do.

import { rfc3339 } from "../../lib/clock.ts";
import { isWithin, type RolloutOrder, type RolloutPlan } from "../../protocol/rollout-order.ts";
import type { Published } from "../document/apply-progress.ts";
import { nextAction, type NextAction } from "../rollout/plan-rollout.ts";
import type { RolloutView, Stage } from "../rollout/rollout-view.ts";
import { cut } from "./node-row.ts";

/** Steps of one rollout. */
export const MAX_STEPS = 20;
/** Failed nodes that are named; the others are counted. */
export const MAX_FAILED = 100;

/**
 * Waiting: no node is released yet. Updating, Baking: a step goes on. Due: time for the next step. Failing: too many have
 * failed. Done: the last step is good. AtOnce: no node waits for its turn.
 */
export type RolloutPhase =
  "Waiting" | "Updating" | "Baking" | "Due" | "Failing" | "Paused" | "Done" | "AtOnce";

export interface RolloutStep {
  readonly percent: number;
  /** How many nodes have their turn then. */
  readonly nodes: number;
  readonly place: "past" | "present" | "future";
}

export interface RolloutRow {
  readonly group: string;
  readonly generation: number;
  readonly digest: string;
  readonly phase: RolloutPhase;
  readonly percent: number;
  /** Why it is paused or fails; "" = it is not. */
  readonly reason: string;
  /** RFC 3339: the step bakes until then; "" = it does not. */
  readonly until: string;
  readonly steps: readonly RolloutStep[];
  readonly nodes: number;
  readonly counts: Readonly<Record<Stage, number>>;
  /** Percent of the nodes that could update. */
  readonly failures: number;
  readonly maxFailures: number;
  readonly failed: readonly { readonly name: string; readonly message: string }[];
  /** `site=berlin`: labels that a node must have. */
  readonly match: readonly string[];
  readonly operator: string;
  /** 0 = it is not known to what it would be taken back. */
  readonly previousGeneration: number;
}

export interface RowFacts {
  readonly group: string;
  readonly published: Published;
  readonly isStaged: boolean;
  readonly view: RolloutView;
  /** Wall-clock ms. */
  readonly now: number;
}

/** Of a Rollout that was published without one. */
const NO_PLAN: RolloutPlan = { steps: [], bakeSeconds: 0, maxFailures: 100 };

export function rolloutRow({ group, published, isStaged, view, now }: RowFacts): RolloutRow {
  const { nodes, counts, failures } = view;
  const { generation, digest } = published;
  const order = isStaged ? view.order : undefined;
  const { maxFailures, operator = "", previousGeneration = 0 } = order?.plan ?? NO_PLAN;
  return {
    group,
    generation,
    digest: cut(digest),
    ...(isStaged ? progressOf(view, now) : AT_ONCE),
    nodes: nodes.length,
    counts,
    failures: Math.round(failures * 100) / 100,
    maxFailures,
    failed: failedOf(view),
    match: Object.entries(order?.match ?? {}).map(([key, value]) => cut(`${key}=${value}`)),
    operator: cut(operator),
    previousGeneration,
  };
}

type Progress = Pick<RolloutRow, "phase" | "percent" | "reason" | "until" | "steps">;

const AT_ONCE: Progress = { phase: "AtOnce", percent: 100, reason: "", until: "", steps: [] };

function progressOf(view: RolloutView, now: number): Progress {
  const { order } = view;
  const plan = order?.plan ?? NO_PLAN;
  const next = nextAction(view, plan, now);
  return {
    phase: phaseOf(view, next),
    percent: order?.percent ?? 0,
    reason: "reason" in next ? cut(next.reason) : "",
    until: "untilMs" in next ? rfc3339(next.untilMs) : "",
    steps: order === undefined ? [] : stepsOf(order, plan, view),
  };
}

function failedOf({ nodes }: RolloutView): RolloutRow["failed"] {
  const failed = nodes.filter(({ stage }) => stage === "Failed").slice(0, MAX_FAILED);
  return failed.map(({ name, message }) => ({ name, message: cut(message) }));
}

function phaseOf({ order }: RolloutView, next: NextAction): RolloutPhase {
  if (order === undefined) return "Waiting";
  switch (next.type) {
    case "Raise":
      return "Due";
    case "Wait":
      return next.untilMs === undefined ? "Updating" : "Baking";
    case "Stop":
      return "Failing";
    case "Paused":
      return "Paused";
    case "Done":
      return "Done";
  }
}

function stepsOf(
  { percent }: RolloutOrder,
  { steps }: RolloutPlan,
  { nodes }: RolloutView,
): readonly RolloutStep[] {
  const all = steps.includes(percent) ? steps : [...steps, percent];
  const rising = [...new Set(all)].toSorted((a, b) => a - b).slice(0, MAX_STEPS);
  return rising.map((step) => ({
    percent: step,
    nodes: nodes.filter(({ place }) => isWithin(place, step)).length,
    place: step < percent ? "past" : step === percent ? "present" : "future",
  }));
}
