// Documents that run although their time is over: nothing stops for that, but it is told (MQTT.md §2). Pure.

import type { DocumentState } from "../../protocol/desired-document.ts";
import type { NodeCondition } from "../../api/v1/pod-status.ts";
import { rfc3339 } from "../../lib/clock.ts";

/** `now`: wall ms of a clock that somebody vouches for; undefined = of none, so that nobody can say. */
export function staleConditions(
  states: readonly Pick<DocumentState, "source" | "document">[],
  now: number | undefined,
): readonly NodeCondition[] {
  if (now === undefined) return [];
  const stale = states.flatMap(({ source, document }) => {
    const { expiresAt, generation } = document ?? {};
    if (expiresAt === undefined || expiresAt > now) return [];
    return [`generation ${generation} of ${source} expired at ${rfc3339(expiresAt)}`];
  });
  if (stale.length === 0) return [];
  const message = `${stale.join("; ")}; it runs on until a newer one is published`;
  return [{ type: "DesiredStale", status: "True", reason: "Expired", message }];
}
