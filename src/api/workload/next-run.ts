// When a schedule is due: exactly at those minutes whose wall-clock fields match. A minute that a change to summer time
// skips does not come, one that the change back repeats comes twice, as in Kubernetes. `@every` counts from its last start.

import type { Calendar, Schedule } from "./cron-schedule.ts";
import { wallFields, type Instant, type WallFields } from "./wall-time.ts";

const MINUTE_MS = 60_000;
/** Every time zone is a multiple of a quarter of an hour away from UTC, and changes at such a moment. */
const BLOCK_MINUTES = 15;
const BLOCK_MS = BLOCK_MINUTES * MINUTE_MS;
const DAY_MINUTES = 1440;
/** Longer than from one 29 February to the next, over a century without one. */
const MAX_SEARCH_MS = 8.1 * 366 * 86_400_000;

export interface Timetable {
  readonly schedule: Schedule;
  /** Absent = UTC. */
  readonly zone?: string;
  /** From which `@every` counts: its last start, or when it was first seen. */
  readonly origin?: Instant;
}

/** The first due minute after `after`, if it comes before `until`; undefined = none. */
export function nextRun(
  timetable: Timetable,
  after: Instant,
  until: Instant = after + MAX_SEARCH_MS,
): Instant | undefined {
  const { schedule, zone, origin = after } = timetable;
  if (!("everyMs" in schedule)) return nextMinute(schedule, { after, until, zone });
  const { everyMs } = schedule;
  const at = origin + everyMs * Math.max(1, Math.floor((after - origin) / everyMs) + 1);
  return at < until ? at : undefined;
}

interface Search {
  readonly after: Instant;
  readonly until: Instant;
  readonly zone: string | undefined;
}

function nextMinute(schedule: Calendar, { after, until, zone }: Search): Instant | undefined {
  let at = (Math.floor(after / MINUTE_MS) + 1) * MINUTE_MS;
  while (at < until) {
    const fields = wallFields(at, zone);
    if (!isDay(schedule, fields)) {
      at = nextDay(at, fields, zone);
      continue;
    }
    const end = (Math.floor(at / BLOCK_MS) + 1) * BLOCK_MS;
    if (schedule.hours.has(fields.hour))
      for (let minute = at; minute < end && minute < until; minute += MINUTE_MS)
        if (schedule.minutes.has((fields.minute + (minute - at) / MINUTE_MS) % 60)) return minute;
    at = end;
  }
  return undefined;
}

function isDay(schedule: Calendar, { month, day, weekday }: WallFields): boolean {
  const { months, days, weekdays, needsBoth } = schedule;
  if (!months.has(month)) return false;
  const [isOfMonth, isOfWeek] = [days.has(day), weekdays.has(weekday)];
  return needsBoth ? isOfMonth && isOfWeek : isOfMonth || isOfWeek;
}

/** The next midnight, or the first moment of a day without one; a moment before it is good too. */
function nextDay(
  at: Instant,
  { hour, minute, day }: WallFields,
  zone: string | undefined,
): Instant {
  const rest = at + (DAY_MINUTES - (hour * 60 + minute)) * MINUTE_MS;
  const found = wallFields(rest, zone);
  if (found.day === day) return rest;
  const beyond = (found.hour * 60 + found.minute) * MINUTE_MS;
  if (beyond === 0) return rest;
  // The day was shorter: what has passed of the next one belongs to it.
  let start = rest - beyond;
  while (wallFields(start, zone).day !== found.day) start += BLOCK_MS;
  return start;
}

/** Windows in which the latest due minute is looked for, shortest first. */
const WINDOWS_MS = [3_600_000, 86_400_000, 32 * 86_400_000, 367 * 86_400_000, MAX_SEARCH_MS];

/** The last due minute after `after` and not after `now`; undefined = none. */
export function lastRun(timetable: Timetable, after: Instant, now: Instant): Instant | undefined {
  const { schedule, origin = after } = timetable;
  if ("everyMs" in schedule) {
    const { everyMs } = schedule;
    const at = origin + everyMs * Math.floor((now - origin) / everyMs);
    return at > Math.max(after, origin) ? at : undefined;
  }
  for (const window of WINDOWS_MS) {
    const from = Math.max(after, now - window);
    let last: Instant | undefined;
    let next = nextRun(timetable, from, now + 1);
    while (next !== undefined) {
      last = next;
      next = nextRun(timetable, next, now + 1);
    }
    if (last !== undefined || from === after) return last;
  }
  return undefined;
}

/** How many due minutes lie after `after` and not after `now`, up to `most`. */
export function countRuns(
  timetable: Timetable,
  { after, now, most }: { readonly after: Instant; readonly now: Instant; readonly most: number },
): number {
  let count = 0;
  let next = nextRun(timetable, after, now + 1);
  while (next !== undefined && count < most) {
    count += 1;
    next = nextRun(timetable, next, now + 1);
  }
  return count;
}
