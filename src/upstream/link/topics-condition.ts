// Words a condition about topics the broker does not serve.

import type { NodeCondition } from "../../api/v1/pod-status.ts";

const NAMED = 5;

/** At most one condition: absent when there is nothing to say. `topics` = topic and what is wrong with it. */
export function topicsCondition(
  type: string,
  reason: string,
  topics: ReadonlyMap<string, string>,
): readonly NodeCondition[] {
  if (topics.size === 0) return [];
  const named = [...topics].slice(0, NAMED).map(([topic, why]) => `${topic} ${why}`);
  const more = topics.size > NAMED ? `; and ${topics.size - NAMED} more` : "";
  return [{ type, status: "True", reason, message: named.join("; ") + more }];
}
