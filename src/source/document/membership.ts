// The groups and labels of a node, as its own document sets them, and which groups count beside those of its
// configuration.

import type { DesiredDocument } from "../../protocol/desired-document.ts";
import {
  integerField,
  invalid,
  objectList,
  required,
  stringField,
  stringMap,
  unknownField,
  type Node,
} from "../../api/decode/field-reader.ts";
import {
  DEFAULT_GROUP_PRIORITY,
  GROUP_NAME_RULE,
  type GroupMember,
} from "../../protocol/groups.ts";
import { labelValueError, qualifiedNameError } from "../../api/validation/validate-names.ts";
import { isTopicName, MAX_GROUPS } from "../../protocol/mqtt-topics.ts";
import { compareText } from "../../lib/compare.ts";

export interface FleetWord {
  readonly groups: readonly GroupMember[];
  readonly labels: Readonly<Record<string, string>>;
}

export const NO_FLEET_WORD: FleetWord = { groups: [], labels: {} };

const GROUP_FIELDS = ["name", "priority"];

/** Each group once. */
export function readFleetWord(node: Node): FleetWord {
  const groups: GroupMember[] = [];
  for (const entry of objectList(node, "groups")) {
    const group = readGroup(entry);
    if (group === undefined) continue;
    if (groups.some(({ name }) => name === group.name))
      entry.findings.fail([...entry.path, "name"], "Duplicate", `${group.name} is there already`);
    else groups.push(group);
  }
  return { groups, labels: readLabels(node) };
}

/** As a document holds them: empty ones are absent. */
export function wordOf({ groups, labels }: FleetWord): Pick<DesiredDocument, "groups" | "labels"> {
  return {
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
  };
}

function readGroup(entry: Node): GroupMember | undefined {
  for (const key of Object.keys(entry.value)) {
    if (GROUP_FIELDS.includes(key)) continue;
    entry.findings.warn([...entry.path, key], "Ignored", unknownField(key, GROUP_FIELDS));
  }
  const name = stringField(entry, "name") ?? "";
  const priority = integerField(entry, "priority") ?? DEFAULT_GROUP_PRIORITY;
  if (isTopicName(name)) return { name, priority };
  if (name === "") required(entry, "name", GROUP_NAME_RULE);
  else invalid(entry, "name", GROUP_NAME_RULE);
  return undefined;
}

function readLabels(node: Node): Readonly<Record<string, string>> {
  const labels = Object.entries(stringMap(node, "labels"));
  return Object.fromEntries(
    labels.filter(([key, value]) => {
      const wrong = qualifiedNameError(key) ?? labelValueError(value);
      if (wrong !== undefined) node.findings.fail(["labels", key], "Invalid", wrong);
      return wrong === undefined;
    }),
  );
}

export interface Membership {
  /** Those that count, the configuration's first, then by priority. */
  readonly members: readonly GroupMember[];
  /** Those for which there is no room. */
  readonly surplus: readonly GroupMember[];
}

/** A group that both name has the configuration's priority: the device's own settings win. */
export function membership(
  configured: readonly GroupMember[],
  ofDocument: readonly GroupMember[],
): Membership {
  const own = new Set(configured.map(({ name }) => name));
  const others = ofDocument.filter(({ name }) => !own.has(name));
  const all = [...configured.toSorted(byPriority), ...others.toSorted(byPriority)];
  return { members: all.slice(0, MAX_GROUPS), surplus: all.slice(MAX_GROUPS) };
}

function byPriority(a: GroupMember, b: GroupMember): number {
  return b.priority - a.priority || compareText(a.name, b.name);
}
