// Decides when the next report is due (the first change at once, a storm of changes as one, else
// `nodeStatusReportFrequency`), and what is published again although the broker has acknowledged the same content
// before.

import type { Monotonic } from "../../lib/clock.ts";

export interface ReportState {
  /** The first and the latest change since the last report. */
  readonly firstChangeAt?: Monotonic;
  readonly latestChangeAt?: Monotonic;
  readonly reportedAt?: Monotonic;
  /** A report is due then even if nothing changes. */
  readonly refreshAt: Monotonic;
}

export interface NextReport {
  /** Not before this moment; in the past = now. */
  readonly at: Monotonic;
  readonly why: "Change" | "Refresh";
}

const DEBOUNCE_MS = 2_000;
const APART_MS = 10_000;

/** At the start of the process. The first refresh is spread over a whole period, so that a fleet does not report in step. */
export function initialReportState(now: Monotonic, frequency: number, dice: number): ReportState {
  return { refreshAt: now + frequency * dice };
}

export function afterChange(state: ReportState, now: Monotonic): ReportState {
  return { ...state, firstChangeAt: state.firstChangeAt ?? now, latestChangeAt: now };
}

export function afterReport(now: Monotonic, frequency: number): ReportState {
  return { reportedAt: now, refreshAt: now + frequency };
}

/** A storm delays a report by at most ten seconds after its first change. */
export function whenToReport(state: ReportState): NextReport {
  const { firstChangeAt, latestChangeAt, reportedAt, refreshAt } = state;
  if (firstChangeAt === undefined || latestChangeAt === undefined)
    return { at: refreshAt, why: "Refresh" };
  if (reportedAt === undefined || firstChangeAt >= reportedAt + APART_MS)
    return { at: firstChangeAt, why: "Change" };
  const quiet = Math.min(latestChangeAt + DEBOUNCE_MS, firstChangeAt + APART_MS);
  return { at: Math.max(reportedAt + APART_MS, quiet), why: "Change" };
}

/** Nothing, the report alone, or the report and every pod topic. */
export type Refresh = "nothing" | "report" | "all";

/** Pod topics cost most of the bytes and rarely need a refresh: every fourth includes them. */
const PODS_EVERY = 4;

/** For the n-th refresh (1, 2, 3 …) without a change. */
export function refreshScope(count: number): Refresh {
  return count % PODS_EVERY === 0 ? "all" : "report";
}

/** At the begin of a session. A broker that was restored from an older copy may have the session without the retained
 * reports; a metered line waits for the next refresh. */
export function connectScope(sessionPresent: boolean, profile: "normal" | "metered"): Refresh {
  return sessionPresent && profile === "metered" ? "nothing" : "all";
}

/** The larger of two refreshes. */
export function larger(a: Refresh, b: Refresh): Refresh {
  if (a === "all" || b === "all") return "all";
  return a === "report" || b === "report" ? "report" : "nothing";
}
