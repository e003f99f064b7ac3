// The groups of a node: a group's document reaches all members of the group.

import type { Place } from "../api/decode/field-reader.ts";
import { converted, integer, listOf, objectType, string } from "../api/schema/codec.ts";
import { isJsonObject } from "../lib/json.ts";
import { isTopicName } from "./mqtt-topics.ts";
import type { Type } from "../api/schema/type.ts";

/** One membership. Where documents of two groups contain the same name, the higher priority wins. */
export interface GroupMember {
  readonly name: string;
  readonly priority: number;
}

export const DEFAULT_GROUP_PRIORITY = 0;
export const GROUP_NAME_RULE =
  'must be lower-case letters, digits, "." and "-", at most 63, with a letter or digit at both ends';

const GROUP: Type<GroupMember> = converted(
  objectType("GroupMember", {
    name: string({
      about: "Name of the group.",
      required: GROUP_NAME_RULE,
      check: (name) => (isTopicName(name) ? undefined : GROUP_NAME_RULE),
    }),
    priority: integer({
      about: "Where two groups' documents contain a pod of one name, the higher priority wins.",
      default: DEFAULT_GROUP_PRIORITY,
    }),
  }),
  { to: (group) => (isTopicName(group.name) ? group : undefined), from: (group) => group },
);

/** Each group once; of a configuration and of a document. */
export const GROUPS: Type<readonly GroupMember[]> = converted(listOf(GROUP), {
  to: (groups, at) => withoutDuplicates(groups, at),
  from: (groups) => groups,
});

function withoutDuplicates(groups: readonly GroupMember[], at: Place): readonly GroupMember[] {
  const seen = new Set<string>();
  const written: readonly unknown[] = Array.isArray(at.value) ? at.value : [];
  for (const [index, group] of written.entries()) {
    const name = isJsonObject(group) ? group["name"] : undefined;
    if (typeof name !== "string" || !isTopicName(name)) continue;
    const path = [...at.path, index, "name"];
    if (seen.has(name)) at.findings.duplicate(path, name);
    seen.add(name);
  }
  return groups.filter(({ name }, index) => groups.findIndex((one) => one.name === name) === index);
}

/** Labels and groups of the node, from its configuration and its document. */
export interface FleetFacts {
  /** Of the node document; labels of the configuration come first. */
  readonly labels: Readonly<Record<string, string>>;
  /** In the order of precedence. */
  readonly groups: readonly GroupMember[];
}

export const NO_FLEET_FACTS: FleetFacts = { labels: {}, groups: [] };
