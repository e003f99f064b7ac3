// Whether a CronJob starts a Job now. The wall clock enters here, as an argument, and nowhere else: it starts a Job only
// while it is trusted, and each minute at most once. kubernetes: mostRecentScheduleTime, syncCronJob

import type { Instant } from "../../api/workload/wall-time.ts";
import { countRuns, lastRun, type Timetable } from "../../api/workload/next-run.ts";

export interface CronTerms extends Omit<Timetable, "origin"> {
  readonly suspend: boolean;
  readonly concurrencyPolicy: "Allow" | "Forbid" | "Replace";
  readonly startingDeadlineSeconds?: number;
}

export interface CronMemory {
  /** When it was first seen by a trusted clock; undefined = not yet. */
  readonly since?: Instant;
  /** The newest minute for which a Job was started. */
  readonly last?: Instant;
}

export interface CronFacts {
  /** Wall-clock ms. */
  readonly now: Instant;
  /** Whether the wall clock is synchronised, and not before a moment that is certain. */
  readonly isTrusted: boolean;
  /** Jobs that have not ended. */
  readonly active: number;
}

export type CronDecision =
  /** `since` is to be stored. */
  | { readonly type: "Begin"; readonly since: Instant }
  | {
      readonly type: "Start";
      readonly at: Instant;
      /** Active Jobs end first. */
      readonly replace: boolean;
      /** More than a hundred were missed. */
      readonly manyMissed: boolean;
    }
  | {
      readonly type: "Wait";
      readonly why: "NotDue" | "Suspended" | "ClockUntrusted" | "TooLate" | "JobActive" | "TooMany";
      /** The minute that is not started. */
      readonly at?: Instant;
    };

export const MANY_MISSED = 100;
/** Of one CronJob at a time: a Job that never ends must not fill the node. */
export const MAX_ACTIVE_JOBS = 20;
/** A stored minute further ahead than this was never right: a clock that was wrong had been trusted. */
const MAX_AHEAD_MS = 86_400_000;

export function decideCron(terms: CronTerms, memory: CronMemory, facts: CronFacts): CronDecision {
  const { now, isTrusted, active } = facts;
  if (!isTrusted) return { type: "Wait", why: "ClockUntrusted" };
  const known = newestKnown(memory);
  if (memory.since === undefined || known > now + MAX_AHEAD_MS)
    return { type: "Begin", since: now };
  if (terms.suspend) return { type: "Wait", why: "Suspended" };
  const { startingDeadlineSeconds: deadline } = terms;
  const after = deadline === undefined ? known : Math.max(known, now - deadline * 1000);
  const timetable = { ...terms, origin: known };
  const at = lastRun(timetable, after, now);
  if (at === undefined) return notDue(terms, known, now);
  if (active > 0 && terms.concurrencyPolicy === "Forbid")
    return { type: "Wait", why: "JobActive", at };
  const replace = active > 0 && terms.concurrencyPolicy === "Replace";
  if (!replace && active >= MAX_ACTIVE_JOBS) return { type: "Wait", why: "TooMany", at };
  const count = countRuns(timetable, { after, now, most: MANY_MISSED + 1 });
  return { type: "Start", at, replace, manyMissed: count > MANY_MISSED };
}

/** No minute up to this one starts any more. */
export function newestKnown({ since = 0, last = 0 }: CronMemory): Instant {
  return Math.max(since, last);
}

function notDue(terms: CronTerms, after: Instant, now: Instant): CronDecision {
  const missed =
    terms.startingDeadlineSeconds === undefined ? undefined : lastRun(terms, after, now);
  if (missed === undefined) return { type: "Wait", why: "NotDue" };
  return { type: "Wait", why: "TooLate", at: missed };
}
