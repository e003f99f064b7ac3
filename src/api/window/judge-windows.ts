// Whether the maintenance windows let an update be downloaded or carried out now. The wall clock enters here as an argument:
// without one that is certain no window is open. docs/updates.md has the rules for users.

import { lastRun, nextRun } from "../workload/next-run.ts";
import type { Instant } from "../workload/wall-time.ts";
import { rfc3339 } from "../../lib/clock.ts";
import type { MaintenanceWindow, UpdateStep } from "./maintenance-window.ts";

export interface WindowMoment {
  /** undefined = the wall clock is not certain. */
  readonly now: Instant | undefined;
  /** When this download or update was last let go on by an open window; undefined = never. */
  readonly allowedAt?: Instant | undefined;
}

export type WindowVerdict =
  /** No window names the step. */
  | { readonly type: "Free" }
  | { readonly type: "Open"; readonly until: Instant }
  /** The window has ended; what it has let begin goes on. */
  | { readonly type: "Grace"; readonly until: Instant }
  /** `opensAt` undefined = it never will. */
  | { readonly type: "Closed"; readonly opensAt: Instant | undefined }
  | { readonly type: "ClockUntrusted" };

export function judgeWindows(
  windows: readonly MaintenanceWindow[],
  step: UpdateStep,
  { now, allowedAt }: WindowMoment,
): WindowVerdict {
  const limiting = windows.filter((window) => window.for.includes(step));
  if (limiting.length === 0) return { type: "Free" };
  if (now === undefined) return { type: "ClockUntrusted" };
  const opened = limiting.flatMap((window) => lastOpening(window, now) ?? []);
  const ends = opened.map(({ at, window }) => at + window.duration);
  const until = Math.max(...ends);
  if (until > now) return { type: "Open", until };
  const graces = opened
    .filter(({ at }) => allowedAt !== undefined && allowedAt >= at)
    .map(({ at, window }) => at + window.duration + window.grace);
  if (graces.length > 0) return { type: "Grace", until: Math.max(...graces) };
  return { type: "Closed", opensAt: nextOpening(limiting, now) };
}

/** Why the step waits; undefined = it may be taken. */
export function whyClosed(verdict: WindowVerdict, step: UpdateStep): string | undefined {
  switch (verdict.type) {
    case "Free":
    case "Open":
    case "Grace":
      return undefined;
    case "Closed": {
      const opens =
        verdict.opensAt === undefined
          ? "which never opens"
          : `which opens at ${rfc3339(verdict.opensAt)}`;
      return `the ${step} waits for its maintenance window, ${opens}`;
    }
    case "ClockUntrusted":
      return `the ${step} waits for its maintenance window, and the clock is not synchronised`;
  }
}

/** When time alone may change the verdict; undefined = it does not. */
export function changesAt(verdict: WindowVerdict): Instant | undefined {
  switch (verdict.type) {
    case "Open":
    case "Grace":
      return verdict.until;
    case "Closed":
      return verdict.opensAt;
    case "Free":
    case "ClockUntrusted":
      return undefined;
  }
}

interface Opened {
  readonly at: Instant;
  readonly window: MaintenanceWindow;
}

/** Of a window that is open now, or in its grace. */
function lastOpening(window: MaintenanceWindow, now: Instant): Opened | undefined {
  const { duration, grace } = window;
  const at = lastRun(timetableOf(window), now - duration - grace, now);
  return at === undefined ? undefined : { at, window };
}

function nextOpening(windows: readonly MaintenanceWindow[], now: Instant): Instant | undefined {
  const next = windows.flatMap((window) => nextRun(timetableOf(window), now) ?? []);
  return next.length === 0 ? undefined : Math.min(...next);
}

function timetableOf({ schedule, timeZone }: MaintenanceWindow) {
  const zone = timeZone === undefined ? {} : { zone: timeZone };
  return { schedule: schedule.calendar, ...zone };
}
