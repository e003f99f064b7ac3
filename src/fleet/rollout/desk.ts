// Performs: opens one group on the broker for a verb of `agent fleet rollout`: its document, its nodes and its Rollout.

import { CliError, UsageError } from "../../cli/exit-codes.ts";
import { printable } from "../../cli/terminal-text.ts";
import { memberOf } from "../../lib/json.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import type { RolloutOrder, RolloutPlan } from "../../protocol/rollout-order.ts";
import type { Published } from "../document/apply-progress.ts";
import { sourceOf } from "../document/compose-document.ts";
import type { DocumentFlags } from "../document/publish-document.ts";
import type { RetainedDocument } from "../document/retained-document.ts";
import { readTarget, type TargetBefore } from "../document/target.ts";
import { named } from "../fleet-topics.ts";
import { membersOf } from "../known-nodes.ts";
import { openFleet, type BrokerFlags, type Fleet, type FleetParts } from "../open-broker.ts";
import { readSigner, type Signer } from "../trust/signing-keys.ts";
import { percentsOf, type WrittenStep } from "./plan-rollout.ts";
import type { SeenRollout } from "./rollout-change.ts";
import { RolloutTopic } from "./rollout-topic.ts";
import { isOrderOf, viewOf, type RolloutView } from "./rollout-view.ts";

export interface RolloutFlags extends BrokerFlags, DocumentFlags {
  readonly filename?: readonly string[];
  readonly group?: string;
  readonly key?: readonly string[];
  readonly steps: readonly WrittenStep[];
  /** Ms. */
  readonly bake: number;
  /** Percent. */
  readonly maxFailures: number;
  readonly match?: Readonly<Record<string, string>>;
  readonly onFailure: "undo" | "pause";
  /** The directory of `history.ts`. */
  readonly history: string;
  /** Ms that nodes have to be healthy again after an undo. */
  readonly timeout: number;
  /** What the person saw who decided; absent = whatever there is. */
  readonly seen?: SeenRollout;
}

/** For one run of a verb. */
export interface Desk {
  readonly parts: FleetParts;
  readonly flags: RolloutFlags;
  readonly fleet: Fleet;
  readonly target: { readonly group: string };
  /** When it was opened. */
  readonly before: TargetBefore;
  readonly topic: RolloutTopic;
  readonly signers: readonly Signer[];
}

/** Throws UsageError for what was written wrong, and what `work` throws. */
export async function atDesk(
  parts: FleetParts,
  flags: RolloutFlags,
  work: (desk: Desk) => Promise<0 | 1>,
): Promise<0 | 1> {
  const { terminal, random } = parts;
  const group = groupOf(flags);
  const target = { group };
  const signers = (flags.key ?? []).map(readSigner);
  await using fleet = await openFleet(parts, flags);
  const before = await readTarget(fleet, target, terminal);
  const operator = random.hex(4);
  const topic = await RolloutTopic.open({ fleet, clock: terminal.clock, group, signers, operator });
  return await work({ parts, flags, fleet, target, before, topic, signers });
}

export function groupOf({ group }: RolloutFlags): string {
  if (group === undefined) throw new UsageError("name the group with --group");
  return named(group);
}

/** Throws CliError when the group has no staged document. */
export function presentVersion({ before: { retained }, target }: Desk): Published {
  if (retained !== undefined && isStaged(retained)) {
    const { epoch, generation, digest } = retained;
    return { source: sourceOf(target), epoch, generation, digest };
  }
  throw new CliError(
    `group ${target.group} has no staged document on the broker; agent fleet rollout -f begins a rollout`,
  );
}

/** Throws CliError when another operator has changed what a person has decided about. */
export function refuseUnseen(
  { flags: { seen }, topic: { order }, target: { group } }: Desk,
  published: Published,
): void {
  if (seen === undefined) return;
  const { generation } = published;
  if (generation !== seen.generation)
    throw new CliError(
      `another operator has meanwhile published generation ${generation} for group ${group}; look at it, then decide again`,
    );
  const percent = orderOf({ topic: { order } }, published)?.percent ?? 0;
  if (seen.percent === undefined || seen.percent === percent) return;
  const who = order?.plan?.operator ?? "";
  throw new CliError(
    `operator ${printable(who === "" ? "unknown" : who)} has meanwhile set the rollout of generation ${generation} from ${seen.percent} % to ${percent} %; look at it, then decide again`,
  );
}

export function isStaged({ document }: RetainedDocument): boolean {
  return memberOf(document["policy"], "staged") === true;
}

/** The Rollout of that generation; undefined = it has none yet, and its nodes wait. */
export function orderOf(
  { topic: { order } }: { readonly topic: Pick<RolloutTopic, "order"> },
  published: Pick<Published, "epoch" | "generation">,
): RolloutOrder | undefined {
  return isOrderOf(order, published) ? order : undefined;
}

/** By the flags, for a rollout that has none of its own yet. */
export function planOf({ flags, before }: Desk, published: Published): RolloutPlan {
  const members = before.nodes.map(({ name }) => name);
  const steps = percentsOf(flags.steps, { members, salt: saltOf(published), sha256 });
  return { steps, bakeSeconds: Math.round(flags.bake / 1_000), maxFailures: flags.maxFailures };
}

/** Each generation begins with other nodes, and each of its operators with the same. */
export function saltOf({ digest }: Published): string {
  return sha256(digest).slice(0, 16);
}

export function viewAtDesk({ fleet, topic, target }: Desk, published: Published): RolloutView {
  const members = membersOf(target.group, fleet);
  return viewOf({ published, order: topic.order, members, sha256 });
}
