// What has happened to the rollouts of each group since the page began to look, newest last.

import { rfc3339 } from "../../lib/clock.ts";
import type { RolloutOrder } from "../../protocol/rollout-order.ts";
import type { RetainedDocument } from "../document/retained-document.ts";
import { cut } from "./node-row.ts";

/** Of each group; the oldest go. */
export const MAX_LOG = 100;

export interface LogLine {
  /** RFC 3339. */
  readonly time: string;
  readonly text: string;
}

export class RolloutLog {
  readonly #lines = new Map<string, LogLine[]>();

  of(group: string): readonly LogLine[] {
    return this.#lines.get(group) ?? [];
  }

  /** `now`: wall-clock ms of a line that has no time of its own. Repetitions are left out. */
  add(group: string, text: string, now: number): void {
    const lines = this.#lines.get(group) ?? [];
    if (lines.at(-1)?.text === cut(text)) return;
    lines.push({ time: rfc3339(now), text: cut(text) });
    if (lines.length > MAX_LOG) lines.shift();
    this.#lines.set(group, lines);
  }
}

/** `generation 7: 10 %`. */
export function orderText({ generation, percent, paused, plan }: RolloutOrder): string {
  const by = plan?.operator === undefined ? "" : ` (operator ${plan.operator})`;
  if (!paused) return `generation ${generation} is released for ${percent} %${by}`;
  return `generation ${generation} is paused at ${percent} %: ${plan?.reason ?? "by an operator"}${by}`;
}

export function documentText({ generation }: RetainedDocument, isStaged: boolean): string {
  const how = isStaged ? "its nodes wait for their turn" : "for all nodes at once";
  return `generation ${generation} is published, ${how}`;
}
