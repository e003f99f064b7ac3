// Which source has precedence: files, URL, the node's document, group documents by priority.

import type { SourceName } from "../api/pod/labels.ts";
import { compareText } from "../lib/compare.ts";
import { groupOf } from "../protocol/desired-document.ts";

/** By name; the higher wins, unknown groups count as 0. */
export type GroupPriorities = ReadonlyMap<string, number>;

const BEFORE_GROUPS: readonly SourceName[] = ["file", "http", "mqtt:node"];

/** The lower rank has precedence; all groups have the same. */
export function rankOf(source: SourceName): number {
  const rank = BEFORE_GROUPS.indexOf(source);
  return rank < 0 ? BEFORE_GROUPS.length : rank;
}

/** Whether `one` certainly has precedence over `other`; between two groups it depends on their priorities. */
export function outranks(one: SourceName, other: SourceName): boolean {
  return rankOf(one) < rankOf(other);
}

/** For `toSorted`: the source with precedence comes first. */
export function compareSources(a: SourceName, b: SourceName, priorities: GroupPriorities): number {
  const priorityOf = (source: SourceName): number => priorities.get(groupOf({ source }) ?? "") ?? 0;
  return rankOf(a) - rankOf(b) || priorityOf(b) - priorityOf(a) || compareText(a, b);
}
