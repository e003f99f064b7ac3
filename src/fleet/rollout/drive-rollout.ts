// Performs: raises a staged rollout step by step until all nodes have the document, or stops it and takes it back. All that it
// knows is on the broker: another program goes on where this one was killed.

import type { Terminal } from "../../cli/process-io.ts";
import { printable } from "../../cli/terminal-text.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import type { RolloutOrder, RolloutPlan } from "../../protocol/rollout-order.ts";
import type { Published } from "../document/apply-progress.ts";
import { membersOf } from "../known-nodes.ts";
import type { Fleet } from "../open-broker.ts";
import { nextAction } from "./plan-rollout.ts";
import { progressLine } from "./rollout-text.ts";
import type { RolloutTopic } from "./rollout-topic.ts";
import { viewOf, type RolloutView } from "./rollout-view.ts";

export interface Drive {
  readonly fleet: Fleet;
  readonly terminal: Terminal;
  readonly topic: RolloutTopic;
  readonly group: string;
  readonly published: Published;
  readonly plan: RolloutPlan;
  /** What an order has beside percent and plan. */
  readonly terms: Pick<RolloutOrder, "salt" | "match">;
}

export type DriveEnd =
  | { readonly type: "Done" }
  /** It is paused on the broker. */
  | { readonly type: "Stopped"; readonly reason: string; readonly view: RolloutView }
  /** By somebody else. */
  | { readonly type: "Paused"; readonly reason: string }
  | { readonly type: "Interrupted" };

/** A node that falls silent does not wake the program. */
const LOOK_AGAIN_MS = 5_000;
/** What arrives within this time is looked at together. */
const TOGETHER_MS = 100;

/** Throws CliError when another operator takes over, or the connection ends. */
export async function driveRollout(drive: Drive): Promise<DriveEnd> {
  const { fleet, terminal, topic, plan, group, published } = drive;
  const signal = terminal.interrupted();
  let order = topic.order;
  let said = "";
  const look = (): RolloutView =>
    viewOf({ published, order, members: membersOf(group, fleet), sha256 });
  const raise = async (percent: number, pause?: string): Promise<void> => {
    const { epoch, generation } = published;
    const how = pause === undefined ? plan : { ...plan, reason: pause };
    const paused = pause !== undefined;
    order = await topic.publish({
      ...drive.terms,
      group,
      epoch,
      generation,
      percent,
      paused,
      plan: how,
    });
  };
  while (!signal.aborted) {
    topic.refuseRival();
    const view = look();
    const line = progressLine(view, plan);
    if (line !== said) terminal.out(`${printable(line)}\n`);
    said = line;
    const now = terminal.clock.now();
    const action = nextAction(view, plan, now);
    switch (action.type) {
      case "Raise":
        await raise(action.percent);
        break;
      case "Stop":
        await raise(view.order?.percent ?? 0, action.reason);
        return { type: "Stopped", reason: action.reason, view };
      case "Paused":
        return { type: "Paused", reason: action.reason };
      case "Done":
        return { type: "Done" };
      case "Wait": {
        const ms = Math.min(LOOK_AGAIN_MS, Math.max(1, (action.untilMs ?? Infinity) - now));
        await nextMessage(fleet, ms, signal);
        break;
      }
    }
  }
  return { type: "Interrupted" };
}

/** Until something has arrived, and what came with it. */
async function nextMessage(fleet: Fleet, ms: number, signal: AbortSignal): Promise<void> {
  let arrived = false;
  using _ = fleet.session.listen(() => (arrived = true));
  await fleet.session.until(() => (arrived ? true : undefined), { ms, signal });
  if (arrived) await fleet.session.until(() => undefined, { ms: TOGETHER_MS, signal });
}
