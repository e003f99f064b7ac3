// The lines of `agent fleet rollout`.

import type { RolloutPlan } from "../../protocol/rollout-order.ts";
import type { Column } from "../../cli/terminal-text.ts";
import { STAGES, type NodeProgress, type RolloutView, type Stage } from "./rollout-view.ts";

const WORDS: Readonly<Record<Stage, string>> = {
  Healthy: "healthy",
  Updating: "updating",
  Failed: "failed",
  Held: "held",
  Away: "away",
  Excluded: "without the label",
  Waiting: "waiting",
};

/** `10 % (step 2 of 4): 18 healthy, 2 updating, 180 waiting`. */
export function progressLine(
  { order, counts }: RolloutView,
  plan: RolloutPlan | undefined,
): string {
  const shown = STAGES.filter((stage) => counts[stage] > 0);
  const nodes = shown.map((stage) => `${counts[stage]} ${WORDS[stage]}`).join(", ");
  return `${placeText(order, plan)}: ${nodes === "" ? "no nodes" : nodes}`;
}

function placeText(order: RolloutView["order"], plan: RolloutPlan | undefined): string {
  if (order === undefined) return "not begun";
  const steps = plan?.steps ?? [];
  const step = steps.indexOf(order.percent);
  const place = step < 0 ? "" : ` (step ${step + 1} of ${steps.length})`;
  const paused = order.paused ? `, paused: ${order.plan?.reason ?? "by an operator"}` : "";
  return `${order.percent} %${place}${paused}`;
}

export const PROGRESS_COLUMNS: readonly Column<NodeProgress>[] = [
  { title: "NODE", cell: ({ name }) => name },
  { title: "FROM", cell: ({ place }) => `${place} %` },
  { title: "STATE", cell: ({ stage }) => stage },
  { title: "MESSAGE", cell: ({ message }) => message },
];
