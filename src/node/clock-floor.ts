// Decides whether the wall clock is certainly behind, and what to do about it at the start.

import type { Edges } from "../edges.ts";
import type { DocumentState } from "../protocol/desired-document.ts";
import { staleConditions } from "../source/document/version.ts";
import type { NodeCondition } from "../api/v1/pod-status.ts";
import { rfc3339 } from "../lib/clock.ts";

export interface KnownTimes {
  /** Wall-clock milliseconds of the build; 0 = unknown. */
  readonly built: number;
  /** Wall-clock milliseconds at which the clock was last known to be synchronised; undefined = never. */
  readonly marked: number | undefined;
}

/** The earliest time that the clock may show. */
export function clockFloor({ built, marked }: KnownTimes): number {
  return Math.max(built, marked ?? 0);
}

export interface ClockAtStart {
  /** `setClock` of the configuration. */
  readonly mayStep: boolean;
  readonly synchronised: boolean;
  /** Wall-clock milliseconds. */
  readonly now: number;
  readonly floor: number;
}

/** The time to step the clock to; undefined = leave it. Never backwards, and never while it is synchronised. */
export function stepTo({ mayStep, synchronised, now, floor }: ClockAtStart): number | undefined {
  return mayStep && !synchronised && now < floor ? floor : undefined;
}

/** How far ahead a signer's clock may be. */
const SKEW_MS = 60_000;

/** For a clock that shows a time before the floor. A synchronised clock is right, whatever was signed. */
export function behindConditions({
  synchronised,
  now,
  floor,
}: Omit<ClockAtStart, "mayStep">): readonly NodeCondition[] {
  if (synchronised || now >= floor - SKEW_MS) return [];
  // Without the clock's current time, which would change the message, and so publish it, with every report.
  const message = `the clock is behind: it is ${rfc3339(floor)} at least; keep it in step (NTP), or let setClock: true step it forward when the agent starts`;
  return [{ type: "ClockBehind", status: "True", reason: "BelowFloor", message }];
}

/** Conditions for expired documents, if the clock is synchronised, and for a clock that is behind. */
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

/**
 * Whether the time should be stored with another write: at most hourly, because each changes a page of the database. A mark
 * in the future was wrong.
 */
export function markIsDue(now: number, marked: number | undefined): boolean {
  return marked === undefined || now < marked || now >= marked + MARK_APART_MS;
}
