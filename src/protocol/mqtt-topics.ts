// Every MQTT topic of the contract as data; `topicFor` and `parseTopic` are inverse.

import { AgentError } from "../lib/errors.ts";
import type { SourceName } from "../api/pod/desired-pod.ts";

interface NodeTopic<T extends string> {
  readonly type: T;
  /** `mqtt.topicRoot`, one or two levels. */
  readonly root: string;
  readonly node: string;
}

interface GroupTopic<T extends string> {
  readonly type: T;
  readonly root: string;
  readonly group: string;
}

export type Topic =
  | NodeTopic<"NodeState">
  | NodeTopic<"NodeDesired">
  | NodeTopic<"NodeReported">
  | (NodeTopic<"PodReported"> & { readonly namespace: string; readonly pod: string })
  | NodeTopic<"NodeEvent">
  | NodeTopic<"NodeCommand">
  | NodeTopic<"NodeResponse">
  | (NodeTopic<"ContainerLog"> & {
      readonly namespace: string;
      readonly pod: string;
      readonly container: string;
    })
  | GroupTopic<"GroupDesired">
  | GroupTopic<"GroupRollout">
  | GroupTopic<"GroupCommand">
  | { readonly type: "Blob"; readonly root: string; readonly sha256: string }
  | { readonly type: "Trust"; readonly root: string };

/** Longest topic in bytes; all characters are ASCII. */
export const MAX_TOPIC_BYTES = 256;
/** Groups a node may be in; the others are listed as `TooManyGroups`. */
export const MAX_GROUPS = 15;

const NAME = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/;
/** Printable ASCII without `+` and `#`. */
const ROOT_LEVEL = /^[!-"$-*,-~]+$/;
const SHA256 = /^[0-9a-f]{64}$/;
const NODE_LEAVES = {
  state: "NodeState",
  desired: "NodeDesired",
  reported: "NodeReported",
  event: "NodeEvent",
  command: "NodeCommand",
  response: "NodeResponse",
} as const;
const GROUP_LEAVES = {
  desired: "GroupDesired",
  rollout: "GroupRollout",
  command: "GroupCommand",
} as const;

/** Whether `text` may name a node, group, namespace, pod or container inside a topic. */
export function isTopicName(text: string): boolean {
  return NAME.test(text);
}

/** Whether `text` may be `mqtt.topicRoot`: one or two levels of printable ASCII, no wildcard, no leading `$`. */
export function isTopicRoot(text: string): boolean {
  const levels = text.split("/");
  return (
    levels.length <= 2 && !text.startsWith("$") && levels.every((level) => ROOT_LEVEL.test(level))
  );
}

/** The topic's text. Throws AgentError `InvalidTopic` for an invalid name or a text over 256 bytes. */
export function topicFor(topic: Topic): string {
  const levels = levelsOf(topic);
  const text = `${topic.root}/${levels.join("/")}`;
  if (!isTopicRoot(topic.root)) throw invalid(text, "mqtt.topicRoot must be one or two levels");
  if (text.length > MAX_TOPIC_BYTES) throw invalid(text, `is over ${MAX_TOPIC_BYTES} bytes`);
  if (parseTopic(topic.root, text) === undefined) throw invalid(text, "holds an invalid name");
  return text;
}

function levelsOf(topic: Topic): readonly string[] {
  switch (topic.type) {
    case "NodeState":
      return ["node", topic.node, "state"];
    case "NodeDesired":
      return ["node", topic.node, "desired"];
    case "NodeReported":
      return ["node", topic.node, "reported"];
    case "PodReported":
      return ["node", topic.node, "reported", "pod", topic.namespace, topic.pod];
    case "NodeEvent":
      return ["node", topic.node, "event"];
    case "NodeCommand":
      return ["node", topic.node, "command"];
    case "NodeResponse":
      return ["node", topic.node, "response"];
    case "ContainerLog":
      return ["node", topic.node, "log", topic.namespace, topic.pod, topic.container];
    case "GroupDesired":
      return ["group", topic.group, "desired"];
    case "GroupRollout":
      return ["group", topic.group, "rollout"];
    case "GroupCommand":
      return ["group", topic.group, "command"];
    case "Blob":
      return ["blob", topic.sha256];
    case "Trust":
      return ["trust"];
  }
}

function invalid(text: string, why: string): AgentError {
  return new AgentError({
    reason: "InvalidTopic",
    message: `topic ${JSON.stringify(text.slice(0, 2 * MAX_TOPIC_BYTES))} ${why}`,
  });
}

/** What a topic under `root` means; undefined for topics that the contract does not define. */
export function parseTopic(root: string, text: string): Topic | undefined {
  if (!isTopicRoot(root) || text.length > MAX_TOPIC_BYTES) return undefined;
  if (!text.startsWith(`${root}/`)) return undefined;
  const [area, name, ...rest] = text.slice(root.length + 1).split("/");
  if (area === "trust") return name === undefined ? { type: "Trust", root } : undefined;
  if (name === undefined) return undefined;
  if (area === "blob") {
    return SHA256.test(name) && rest.length === 0
      ? { type: "Blob", root, sha256: name }
      : undefined;
  }
  if (!isTopicName(name) || !rest.every((level) => isTopicName(level))) return undefined;
  if (area === "node") return parseNodeTopic(root, name, rest);
  if (area === "group") return parseGroupTopic(root, name, rest);
  return undefined;
}

function parseNodeTopic(root: string, node: string, rest: readonly string[]): Topic | undefined {
  const [leaf, first, second, third, ...more] = rest;
  if (leaf === undefined || more.length > 0) return undefined;
  if (first === undefined) {
    const type = lookup(NODE_LEAVES, leaf);
    return type === undefined ? undefined : { type, root, node };
  }
  if (second === undefined || third === undefined) return undefined;
  if (leaf === "reported" && first === "pod") {
    return { type: "PodReported", root, node, namespace: second, pod: third };
  }
  if (leaf === "log") {
    return { type: "ContainerLog", root, node, namespace: first, pod: second, container: third };
  }
  return undefined;
}

function parseGroupTopic(root: string, group: string, rest: readonly string[]): Topic | undefined {
  const [leaf, ...more] = rest;
  if (leaf === undefined || more.length > 0) return undefined;
  const type = lookup(GROUP_LEAVES, leaf);
  return type === undefined ? undefined : { type, root, group };
}

function lookup<T extends string>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The filters that a node subscribes to at every connect, exact topics only: its own desired and command, trust, and
 * those of its groups (at most 15; the rest is left out). */
export function subscriptionsFor(
  root: string,
  node: string,
  groups: readonly string[],
): readonly string[] {
  const own: readonly Topic[] = [
    { type: "NodeDesired", root, node },
    { type: "NodeCommand", root, node },
    { type: "Trust", root },
  ];
  const joined = [...new Set(groups)].slice(0, MAX_GROUPS);
  return [
    ...own.map((topic) => topicFor(topic)),
    ...joined.flatMap((group) => groupTopics(root, group)),
  ];
}

/** The topics that a member of the group subscribes to. */
export function groupTopics(root: string, group: string): readonly string[] {
  const types = ["GroupDesired", "GroupRollout", "GroupCommand"] as const;
  return types.map((type) => topicFor({ type, root, group }));
}

/** The source of documents on this topic; undefined for topics without documents. */
export function sourceOfTopic(topic: Topic): SourceName | undefined {
  if (topic.type === "NodeDesired") return "mqtt:node";
  if (topic.type === "GroupDesired") return `mqtt:group/${topic.group}`;
  return undefined;
}
