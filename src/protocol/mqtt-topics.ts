// Every MQTT topic of the contract as data; `topicFor` and `parseTopic` are inverse.

import { AgentError } from "../lib/errors.ts";

/** The levels below `mqtt.topicRoot`; in braces, the parts of the topic. */
const LEVELS = {
  NodeState: "node/{node}/state",
  NodeDesired: "node/{node}/desired",
  NodeReported: "node/{node}/reported",
  PodReported: "node/{node}/reported/pod/{namespace}/{pod}",
  NodeEvent: "node/{node}/event",
  NodeCommand: "node/{node}/command",
  NodeResponse: "node/{node}/response",
  NodeSession: "node/{node}/session/{session}",
  ContainerLog: "node/{node}/log/{namespace}/{pod}/{container}",
  GroupDesired: "group/{group}/desired",
  GroupRollout: "group/{group}/rollout",
  GroupCommand: "group/{group}/command",
  Blob: "blob/{sha256}",
  Trust: "trust",
} as const;

export type TopicType = keyof typeof LEVELS;
type PartsOf<Levels extends string> = Levels extends `${string}{${infer Part}}${infer Rest}`
  ? Part | PartsOf<Rest>
  : never;
/** `root` = `mqtt.topicRoot`, one or two levels. */
export type Topic = {
  [Type in TopicType]: { readonly type: Type; readonly root: string } & {
    readonly [Part in PartsOf<(typeof LEVELS)[Type]>]: string;
  };
}[TopicType];

/** Longest topic in bytes; all characters are ASCII. */
export const MAX_TOPIC_BYTES = 256;
/** Groups a node may be in; the others are listed as `TooManyGroups`. */
export const MAX_GROUPS = 15;

const NAME = "[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?";
const WHOLE_NAME = new RegExp(`^${NAME}$`);
const SHA256 = "[0-9a-f]{64}";
/** One or two levels of printable ASCII without `+` and `#`. */
const ROOT_LEVEL = '[!-"$-*,-.0-~]+';
const WHOLE_ROOT = new RegExp(`^(?!\\$)${ROOT_LEVEL}(?:/${ROOT_LEVEL})?$`);
const PART = /\{(\w+)\}/g;
const PATTERNS = Object.entries(LEVELS).map(([type, levels]) => {
  const pattern = levels.replaceAll(
    PART,
    (_, part: string) => `(?<${part}>${part === "sha256" ? SHA256 : NAME})`,
  );
  return { type, pattern: new RegExp(`^${pattern}$`) };
});

/** Whether `text` may name a node, group, namespace, pod or container inside a topic. */
export function isTopicName(text: string): boolean {
  return WHOLE_NAME.test(text);
}

/** Whether `text` may be `mqtt.topicRoot`: one or two levels of printable ASCII, no wildcard, no leading `$`. */
export function isTopicRoot(text: string): boolean {
  return WHOLE_ROOT.test(text);
}

/** The topic's text. Throws AgentError `InvalidTopic` for an invalid name or a text over 256 bytes. */
export function topicFor(topic: Topic): string {
  const parts: Readonly<Record<string, string>> = topic;
  const levels = LEVELS[topic.type].replaceAll(PART, (_, part: string) => parts[part] ?? "");
  const text = `${topic.root}/${levels}`;
  if (!isTopicRoot(topic.root)) throw invalid(text, "mqtt.topicRoot must be one or two levels");
  if (text.length > MAX_TOPIC_BYTES) throw invalid(text, `is over ${MAX_TOPIC_BYTES} bytes`);
  if (parseTopic(topic.root, text)?.type !== topic.type)
    throw invalid(text, "holds an invalid name");
  return text;
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
  const levels = text.slice(root.length + 1);
  for (const { type, pattern } of PATTERNS) {
    const match = pattern.exec(levels);
    // The type Topic and the pattern are made of the same levels.
    if (match !== null) return { type, root, ...match.groups } as Topic;
  }
  return undefined;
}

/**
 * The filters that a node subscribes to at every connect, exact topics only: trust, its own desired and command, and those
 * of its groups (at most 15; the rest is left out). Brokers send retained messages in the order of the filters, and keys
 * come before what they sign.
 */
export function subscriptionsFor(
  root: string,
  node: string,
  groups: readonly string[],
): readonly string[] {
  const own: readonly Topic[] = [
    { type: "Trust", root },
    { type: "NodeDesired", root, node },
    { type: "NodeCommand", root, node },
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
