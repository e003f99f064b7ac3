// Why a CronJob starts no Job, in words.

import { normal, warning, type EventContent } from "../../api/v1/events.ts";
import { rfc3339 } from "../../lib/clock.ts";
import type { CronDecision } from "./cron-decision.ts";

/** Why nothing starts now, or did not start; a missed start stays shown until the next one. */
export function noticeOf(
  decision: CronDecision,
  before: EventContent | undefined,
): { readonly notice?: EventContent } {
  const at = "at" in decision && decision.at !== undefined ? rfc3339(decision.at) : "";
  switch (decision.type) {
    case "Begin":
      return {};
    case "Start":
      return decision.manyMissed
        ? {
            notice: warning(
              "TooManyMissedTimes",
              "more than 100 start times were missed; the last one was started; set startingDeadlineSeconds, or check the clock",
            ),
          }
        : {};
    case "Wait":
      switch (decision.why) {
        case "ClockUntrusted":
          return {
            notice: warning(
              "ClockUntrusted",
              "no Job starts while the wall clock is not synchronised; keep it in step (NTP)",
            ),
          };
        case "TooLate":
          return {
            notice: warning(
              "MissSchedule",
              `missed its start at ${at}: startingDeadlineSeconds had passed`,
            ),
          };
        case "JobActive":
          return {
            notice: normal(
              "JobAlreadyActive",
              `the Job of ${at} waits, because another one runs and concurrencyPolicy is Forbid`,
            ),
          };
        case "TooMany":
          return {
            notice: warning(
              "TooManyActive",
              `the Job of ${at} waits, because too many run already; set concurrencyPolicy, or activeDeadlineSeconds`,
            ),
          };
        case "NotDue":
          return before === undefined || before.reason === "ClockUntrusted"
            ? {}
            : { notice: before };
        case "Suspended":
          return {};
      }
  }
}
