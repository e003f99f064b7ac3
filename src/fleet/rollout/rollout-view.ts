// How far a staged rollout is: what each node of the group does with the document, and how many do so.

import { isWithin, placeOf, type RolloutOrder } from "../../protocol/rollout-order.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";
import type { Published } from "../document/apply-progress.ts";
import type { KnownNode } from "../known-nodes.ts";
import type { ReportedAck } from "../node-report.ts";

export const STAGES = [
  "Healthy",
  "Updating",
  "Failed",
  /** A hold, a lock or a maintenance window delays it. */
  "Held",
  /** Its turn has come, and it is not connected. */
  "Away",
  /** Its turn has come, and it lacks a label of the Rollout. */
  "Excluded",
  /** Its turn has not come. */
  "Waiting",
] as const;
export type Stage = (typeof STAGES)[number];

export interface NodeProgress {
  readonly name: string;
  /** The percent above which it takes part. */
  readonly place: number;
  readonly stage: Stage;
  /** What the node says. */
  readonly message: string;
}

export interface RolloutView {
  readonly published: Published;
  /** undefined = no node is released yet. */
  readonly order: RolloutOrder | undefined;
  readonly nodes: readonly NodeProgress[];
  readonly counts: Readonly<Record<Stage, number>>;
  /** Percent of the nodes whose turn has come and that can update: those that have failed. */
  readonly failures: number;
}

export interface ViewFacts {
  readonly published: Published;
  readonly order: RolloutOrder | undefined;
  readonly members: readonly KnownNode[];
  readonly sha256: Sha256;
}

/** Codes of an acknowledgement of what the node goes on with by itself. */
const GOING_ON = 202;
const HEALTHY = 200;
const HELD = 423;

export function viewOf(facts: ViewFacts): RolloutView {
  const { published, members, sha256 } = facts;
  // An order of another generation releases nothing of this one.
  const order = isOrderOf(facts.order, published) ? facts.order : undefined;
  const nodes = members.map((node) => {
    const place = order === undefined ? 0 : placeOf(node.name, order.salt, sha256);
    const isDue = order !== undefined && isWithin(place, order.percent);
    return { name: node.name, place, ...stageOf(node, { published, order, isDue }) };
  });
  const counts = Object.fromEntries(STAGES.map((stage) => [stage, 0])) as Record<Stage, number>;
  for (const { stage } of nodes) counts[stage] += 1;
  const able = counts.Healthy + counts.Updating + counts.Failed;
  const failures = able === 0 ? 0 : (100 * counts.Failed) / able;
  return { published, order, nodes, counts, failures };
}

/** Names of the nodes that may have the document. */
export function namesReached({ nodes }: RolloutView): readonly string[] {
  return nodes.flatMap(({ name, stage }) => (stage === "Waiting" ? [] : [name]));
}

export function isOrderOf(
  order: RolloutOrder | undefined,
  { epoch, generation }: Pick<Published, "epoch" | "generation">,
): order is RolloutOrder {
  return order?.epoch === epoch && order.generation === generation;
}

interface Turn {
  readonly published: Published;
  readonly order: RolloutOrder | undefined;
  readonly isDue: boolean;
}

function stageOf(
  { report, state }: KnownNode,
  { published, order, isDue }: Turn,
): Pick<NodeProgress, "stage" | "message"> {
  const acks = report?.desired.filter(({ source }) => source === published.source) ?? [];
  const own = acks.find(({ digest }) => digest === published.digest);
  const isAway = state !== undefined && state.state !== "online";
  if (own !== undefined) return ownStage(own, isAway);
  const { code, message = "" } = refusalOf(acks, published) ?? {};
  if (code !== undefined && code !== HELD) return { stage: "Failed", message };
  if (!isDue) return { stage: "Waiting", message };
  if (isAway) return { stage: "Away", message: state.state };
  const isExcluded = Object.keys(order?.match ?? {}).length > 0 && message.includes("the label ");
  return { stage: isExcluded ? "Excluded" : "Updating", message };
}

function refusalOf(
  [ack]: readonly ReportedAck[],
  { digest }: Published,
): ReportedAck["lastRejected"] {
  const refused = ack?.lastRejected;
  return refused?.digest === digest ? refused : undefined;
}

function ownStage(
  { code, phase, message = "" }: ReportedAck,
  isAway: boolean,
): Pick<NodeProgress, "stage" | "message"> {
  const said = message === "" ? phase : `${phase}: ${message}`;
  if (code === HEALTHY) return { stage: "Healthy", message: said };
  if (code === HELD) return { stage: "Held", message: said };
  if (code !== GOING_ON) return { stage: "Failed", message: said };
  // One that was lost in the middle must not delay the others for ever.
  return { stage: isAway ? "Away" : "Updating", message: said };
}
