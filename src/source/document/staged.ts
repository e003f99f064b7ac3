// Whether a node may take a staged document of its group: a Rollout has to release it (policy.staged, docs/mqtt-api.md).

import { isWithin, placeOf, type RolloutOrder } from "../../protocol/rollout-order.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";

/** What the node knows of itself and of the rollouts of its group. */
export interface StagedFacts {
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The newest Rollout of the group; undefined = none has arrived since the agent's start. */
  readonly order: RolloutOrder | undefined;
  readonly sha256: Sha256;
}

export interface StagedVersion {
  readonly epoch: string;
  readonly generation: number;
}

/** Why the document waits; undefined = it is released for this node. */
export function waitsFor(
  { epoch, generation }: StagedVersion,
  { order, node, labels, sha256 }: StagedFacts,
): string | undefined {
  const waits = `generation ${generation} is staged and waits`;
  if (order === undefined || order.epoch !== epoch || order.generation < generation)
    return `${waits} for a Rollout that names it; agent fleet rollout publishes one`;
  if (order.generation > generation)
    return `${waits}: the Rollout names generation ${order.generation}, which has not arrived`;
  if (order.paused) return `${waits}: its Rollout is paused at ${order.percent} %`;
  const missing = Object.entries(order.match).find(([key, value]) => labels[key] !== value);
  if (missing !== undefined)
    return `${waits}: its Rollout is for nodes with the label ${missing.join("=")}`;
  const place = placeOf(node, order.salt, sha256);
  if (isWithin(place, order.percent)) return undefined;
  return `${waits} at ${order.percent} % of the group; this node follows above ${place} %`;
}
