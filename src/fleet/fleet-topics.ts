// The topics of the fleet to subscribe to: exact ones for named nodes, else wildcards.

import { UsageError } from "../cli/exit-codes.ts";
import { isTopicName, parseTopic, topicFor } from "../protocol/mqtt-topics.ts";

/** Of a node, by the last word of the topic. */
export type NodeLeaf = "state" | "reported" | "event" | "desired" | "response";

/** Filters a SUBSCRIBE may hold on the strictest broker. */
const FILTERS_AT_ONCE = 8;
const TYPES = {
  state: "NodeState",
  reported: "NodeReported",
  event: "NodeEvent",
  desired: "NodeDesired",
  response: "NodeResponse",
} as const;

/** `nodes` undefined = all there are, by wildcard. */
export function nodeFilters(
  root: string,
  nodes: readonly string[] | undefined,
  leaves: readonly NodeLeaf[],
): readonly string[] {
  if (nodes === undefined) return leaves.map((leaf) => `${root}/node/+/${leaf}`);
  return nodes.flatMap((node) => leaves.map((leaf) => topicFor({ type: TYPES[leaf], root, node })));
}

/** Matches more than one topic. */
export function isWildcard(filter: string): boolean {
  return /[+#]/.test(filter);
}

/** The filters in SUBSCRIBE packets. */
export function inPackets(filters: readonly string[]): readonly (readonly string[])[] {
  const unique = [...new Set(filters)];
  return Array.from({ length: Math.ceil(unique.length / FILTERS_AT_ONCE) }, (_, packet) =>
    unique.slice(packet * FILTERS_AT_ONCE, (packet + 1) * FILTERS_AT_ONCE),
  );
}

/** Names of the nodes that have one of these topics, sorted. */
export function nodesOf(root: string, topics: Iterable<string>): readonly string[] {
  const names = [...topics].flatMap((text) => {
    const topic = parseTopic(root, text);
    return topic !== undefined && "node" in topic ? [topic.node] : [];
  });
  return [...new Set(names)].toSorted();
}

/** The name of a node, a group, a pod or a container. Throws UsageError if no topic can have it. */
export function named(name: string): string {
  if (isTopicName(name)) return name;
  throw new UsageError(`${JSON.stringify(name)} cannot be a name`);
}
