// Performs: the target of a document, a node or a group: chosen by flags or the document, and what the broker has of it.

import { UsageError } from "../../cli/exit-codes.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { topicFor } from "../../protocol/mqtt-topics.ts";
import { named, nodeFilters } from "../fleet-topics.ts";
import { knownNode, membersOf, subscribeNodes, type KnownNode } from "../known-nodes.ts";
import type { Fleet } from "../open-broker.ts";
import { targetName, targetOf, type FleetTarget, type WrittenInput } from "./compose-document.ts";
import { readRetained, type RetainedDocument } from "./retained-document.ts";
import { RivalWatch } from "./rival-watch.ts";

export interface TargetFlags {
  readonly filename: readonly string[];
  readonly node?: string;
  readonly group?: string;
}

export function chooseTarget(input: WrittenInput, flags: TargetFlags): FleetTarget {
  const { node, group } = flags;
  const own = targetOf(input.document);
  if (node !== undefined && group !== undefined)
    throw new UsageError("--node and --group exclude each other: a document has one target");
  const asked = node !== undefined ? { node } : group !== undefined ? { group } : own;
  if (asked === undefined)
    throw new UsageError(
      "the document has no target; name a node with --node or a group with --group",
    );
  named("node" in asked ? asked.node : asked.group);
  if (own !== undefined && targetName(own) !== targetName(asked))
    throw new UsageError(`the document is for ${targetName(own)}, not for ${targetName(asked)}`);
  return asked;
}

export interface TargetBefore {
  readonly topic: string;
  readonly retained: RetainedDocument | undefined;
  /** Watches what others publish since then. */
  readonly rivals: RivalWatch;
  /** The target nodes, as far as they are known. */
  readonly nodes: readonly KnownNode[];
}

/** Reads the retained document of the target and the reports of its nodes. */
export async function readTarget(
  fleet: Fleet,
  target: FleetTarget,
  terminal: Terminal,
): Promise<TargetBefore> {
  const { session, root } = fleet;
  const isNode = "node" in target;
  const topic = isNode
    ? topicFor({ type: "NodeDesired", root, node: target.node })
    : topicFor({ type: "GroupDesired", root, group: target.group });
  const ofNode = isNode ? nodeFilters(root, [target.node], ["state", "reported"]) : [];
  await session.subscribe([topic, ...ofNode]);
  const retained = readRetained(session.latest.get(topic), sha256);
  const rivals = new RivalWatch(session, topic);
  if (isNode) return { topic, retained, rivals, nodes: [knownNode(fleet, target.node)] };
  await subscribeNodes(fleet, ["state", "reported"], terminal);
  return { topic, retained, rivals, nodes: membersOf(target.group, fleet) };
}
