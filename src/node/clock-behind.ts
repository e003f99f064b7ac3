// The condition `ClockBehind`: whether the wall clock is certainly behind. If it is synchronised, expired documents instead.

import type { Edges } from "../edges.ts";
import type { DocumentState } from "../protocol/desired-document.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import { rfc3339 } from "../lib/clock.ts";
import { staleConditions } from "../source/document/issued-and-expires.ts";

/** How far ahead a signer's clock may be. */
const SKEW_MS = 60_000;

/** For a clock that is not synchronised and shows a time before the floor. */
function behindConditions(now: number, floor: number): readonly NodeCondition[] {
  if (now >= floor - SKEW_MS) return [];
  // Without the clock's current time, which would change the message, and so publish it, with every report.
  const message = `the clock is behind: it is ${rfc3339(floor)} at least; keep it in step (NTP), or let setClock: true step it forward when the agent starts`;
  return [{ type: "ClockBehind", status: "True", reason: "BelowFloor", message }];
}

/** True only while no time source has set the clock; then no condition says the contrary. */
export function clockConditions(isSynchronised: boolean): readonly NodeCondition[] {
  if (isSynchronised) return [];
  const message =
    "no time source has confirmed the clock since the boot; times that it shows may be wrong, and nothing is decided by them";
  return [{ type: "ClockUntrusted", status: "True", reason: "NotSynchronised", message }];
}

/** Expired documents, if the clock is synchronised: then it is right, whatever was signed. Else a clock that is behind. */
export function timeConditions(
  edges: Pick<Edges, "clock" | "clockSynchronised" | "clockFloor">,
  documents: readonly DocumentState[],
): readonly NodeCondition[] {
  const now = edges.clock.now();
  if (edges.clockSynchronised()) return staleConditions(documents, now);
  return behindConditions(now, edges.clockFloor.at);
}
