// Decides below which moment the wall clock is certainly wrong, and what to do about it at the start.

import type { Edges } from "../edges.ts";
import type { DocumentState } from "../protocol/desired-document.ts";
import { staleConditions } from "../source/document/version.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import { rfc3339 } from "../lib/clock.ts";

export interface KnownTimes {
  /** Wall ms of the agent's sources; 0 = unknown. */
  readonly built: number;
  /** Wall ms at which the clock was synchronised once; undefined = never. */
  readonly marked: number | undefined;
}

/** It cannot be earlier than that. */
export function clockFloor({ built, marked }: KnownTimes): number {
  return Math.max(built, marked ?? 0);
}

export interface ClockAtStart {
  /** `setClock` of the configuration. */
  readonly mayStep: boolean;
  readonly synchronised: boolean;
  /** Wall ms. */
  readonly now: number;
  readonly floor: number;
}

/** Where to step the clock to; undefined = leave it. It is never set back, and never against what keeps it in step. */
export function stepTo({ mayStep, synchronised, now, floor }: ClockAtStart): number | undefined {
  return mayStep && !synchronised && now < floor ? floor : undefined;
}

/** How far ahead a signer's clock may be. */
const SKEW_MS = 60_000;

/** The clock shows an earlier time than is proven. A synchronised clock is right, whatever was signed. */
export function behindConditions({
  synchronised,
  now,
  floor,
}: Omit<ClockAtStart, "mayStep">): readonly NodeCondition[] {
  if (synchronised || now >= floor - SKEW_MS) return [];
  // Without the clock's own time: the message would differ, and be published, at every report.
  const message = `the clock is behind: it is ${rfc3339(floor)} at least; keep it in step (NTP), or let setClock: true step it forward when the agent starts`;
  return [{ type: "ClockBehind", status: "True", reason: "BelowFloor", message }];
}

/** Documents that run past their expiry, as far as the clock is synchronised; and a clock that is behind. */
export function timeConditions(
  {
    clock,
    clockSynchronised,
    clockFloor,
  }: Pick<Edges, "clock" | "clockSynchronised" | "clockFloor">,
  documents: readonly DocumentState[],
): readonly NodeCondition[] {
  const synchronised = clockSynchronised();
  const now = clock.now();
  return [
    ...staleConditions(documents, synchronised ? now : undefined),
    ...behindConditions({ synchronised, now, floor: clockFloor.at }),
  ];
}

const MARK_APART_MS = 3_600_000;

/** Whether another write should take the time along: hourly is enough, and a page of the database is 4 KiB. A mark in
 * the future was wrong. */
export function markIsDue(now: number, marked: number | undefined): boolean {
  return marked === undefined || now < marked || now >= marked + MARK_APART_MS;
}
