// Which groups a node is in: those of its configuration (`mqtt.groups`) and those of its own document, up to a limit;
// beyond it TooManyGroups.

import type { GroupMember } from "../../protocol/groups.ts";
import { MAX_GROUPS } from "../../protocol/mqtt-topics.ts";
import { compareText } from "../../lib/compare.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";

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

/** `ref`: topic of the node's document. */
export function tooMany(group: string, ref: string): Rejection {
  const message = `the node is not in group ${group}: ${MAX_GROUPS} groups are the most; leave another one`;
  return { source: "mqtt:node", ref, code: "TooManyGroups", path: "groups", message };
}
