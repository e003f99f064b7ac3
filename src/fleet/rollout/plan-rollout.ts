// What an operator's program does next with a staged rollout: raise it, wait, stop it, or end.

import { placeOf, type RolloutOrder, type RolloutPlan } from "../../protocol/rollout-order.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";
import type { RolloutView } from "./rollout-view.ts";

export type NextAction =
  | { readonly type: "Raise"; readonly percent: number }
  /** `untilMs`: wall clock at which time alone changes the answer; absent = the nodes have to. */
  | { readonly type: "Wait"; readonly untilMs?: number }
  | { readonly type: "Stop"; readonly reason: string }
  | { readonly type: "Paused"; readonly reason: string }
  | { readonly type: "Done" };

/** `now`: wall-clock ms. */
export function nextAction(view: RolloutView, plan: RolloutPlan, now: number): NextAction {
  const { order, counts, failures } = view;
  const [first = 100] = plan.steps;
  if (order === undefined) return { type: "Raise", percent: first };
  if (order.paused) return { type: "Paused", reason: order.plan?.reason ?? "by an operator" };
  if (failures > plan.maxFailures) return { type: "Stop", reason: failureText(view, plan) };
  if (counts.Updating > 0) return { type: "Wait" };
  const bakedAt = (order.issuedAt ?? 0) + plan.bakeSeconds * 1_000;
  if (now < bakedAt) return { type: "Wait", untilMs: bakedAt };
  const next = plan.steps.find((percent) => percent > order.percent);
  return next === undefined ? { type: "Done" } : { type: "Raise", percent: next };
}

function failureText(
  { nodes, counts, failures }: RolloutView,
  { maxFailures }: RolloutPlan,
): string {
  const failed = nodes.filter(({ stage }) => stage === "Failed");
  const [one] = failed;
  const example = one === undefined ? "" : `, such as ${one.name}: ${one.message}`;
  const share = Math.round(failures * 100) / 100;
  return `${counts.Failed} nodes have failed, ${share} % of those whose turn it was and more than ${maxFailures} %${example}`;
}

/** Whether every node that it is for has been released. */
export function isAtLastStep({ paused, percent, plan }: RolloutOrder): boolean {
  return !paused && percent >= (plan?.steps.at(-1) ?? 100);
}

/** A step as a person writes it: a number of nodes, or a share. */
export type WrittenStep = { readonly nodes: number } | { readonly percent: number };

/** undefined = it is neither `3` nor `2.5%`. */
export function parseStep(written: string): WrittenStep | undefined {
  const match = /^(\d{1,6}(?:\.\d{1,2})?)(%?)$/.exec(written.trim());
  if (match === null) return undefined;
  const value = Number(match[1]);
  if (match[2] === "%") return value > 0 && value <= 100 ? { percent: value } : undefined;
  return Number.isInteger(value) && value > 0 ? { nodes: value } : undefined;
}

export interface StepFacts {
  /** Names of the nodes of the group. */
  readonly members: readonly string[];
  readonly salt: string;
  readonly sha256: Sha256;
}

/** The percent of each step, rising; a number of nodes is the least percent with so many. */
export function percentsOf(
  steps: readonly WrittenStep[],
  { members, salt, sha256 }: StepFacts,
): readonly number[] {
  const places = members.map((name) => placeOf(name, salt, sha256)).toSorted((a, b) => a - b);
  const percents = steps.map((step) => {
    if ("percent" in step) return step.percent;
    const place = places[step.nodes - 1];
    return place === undefined ? 100 : Math.min(100, Math.round(place * 100 + 1) / 100);
  });
  return percents.filter((percent, index) =>
    percents.slice(0, index).every((one) => one < percent),
  );
}
