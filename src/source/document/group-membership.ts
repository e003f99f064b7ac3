// Which groups a node is in: those of its configuration (`mqtt.groups`) and those of its own document, up to a limit.

import type { GroupMember } from "../../protocol/groups.ts";
import { MAX_GROUPS } from "../../protocol/mqtt-topics.ts";
import { compareText } from "../../lib/compare.ts";

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
