// Decides when the next report is due (a change soon, a storm of changes from a credit, else
// `nodeStatusReportFrequency`), and what is published again although the broker has acknowledged the same content
// before.

import type { Monotonic } from "../../lib/clock.ts";

/** What reports of changes cost: `reports` at once, then one more every `refillMs`. */
export interface ReportCredit {
  readonly reports: number;
  readonly refillMs: number;
  /** So many more may be paid in advance, only for answers to documents: the steps of an update have often taken the
   * credit before its end. Nothing else is reported until they are paid back. */
  readonly advance: number;
}

export const REPORT_CREDITS = {
  normal: { reports: 6, refillMs: 10_000, advance: 4 },
  metered: { reports: 3, refillMs: 600_000, advance: 2 },
} as const satisfies Record<string, ReportCredit>;

export interface ReportPolicy {
  readonly credit: ReportCredit;
  /** Longest time between two reports, in ms. */
  readonly frequency: number;
}

export interface ReportState {
  /** The first change since the last report. */
  readonly firstChangeAt?: Monotonic;
  /** The first change since it was last looked whether an answer is among the changes. */
  readonly unseenSince?: Monotonic;
  /** When the whole credit is there again; in the past = it is. */
  readonly refilledAt: Monotonic;
  /** A report is due then even if nothing changes. */
  readonly refreshAt: Monotonic;
}

export interface NextReport {
  /** Not before this moment; in the past = now. */
  readonly at: Monotonic;
  readonly why: "Change" | "Refresh";
}

/** What changes within this time is one report. */
const JOIN_MS = 200;

/** At the start of the process. The first refresh is spread over a whole period, so that a fleet does not report in step. */
export function initialReportState(now: Monotonic, frequency: number, dice: number): ReportState {
  return { refilledAt: now, refreshAt: now + frequency * dice };
}

export function afterChange(state: ReportState, now: Monotonic): ReportState {
  const { firstChangeAt = now, unseenSince = now } = state;
  return { ...state, firstChangeAt, unseenSince };
}

/** No answer is among the changes so far. */
export function afterLook(state: ReportState): ReportState {
  const { unseenSince: _seen, ...rest } = state;
  return rest;
}

/** Every change so far is part of the report that is made now. */
export function beforeReport({ refilledAt, refreshAt }: ReportState): ReportState {
  return { refilledAt, refreshAt };
}

/** A refresh costs no credit. */
export function afterReport(
  { refilledAt }: ReportState,
  { at, why }: NextReport,
  { credit, frequency }: ReportPolicy,
): ReportState {
  const paid = why === "Change" ? Math.max(refilledAt, at) + credit.refillMs : refilledAt;
  return { refilledAt: paid, refreshAt: at + frequency };
}

export function whenToReport(
  { firstChangeAt, refilledAt, refreshAt }: ReportState,
  { reports, refillMs }: ReportCredit,
): NextReport {
  if (firstChangeAt === undefined) return { at: refreshAt, why: "Refresh" };
  const at = Math.max(firstChangeAt + JOIN_MS, refilledAt - (reports - 1) * refillMs);
  return at <= refreshAt ? { at, why: "Change" } : { at: refreshAt, why: "Refresh" };
}

/** When to look whether an answer is among the changes, so that it is reported in advance; undefined = not before the next
 * report, or the next change. */
export function whenToLook(
  { unseenSince, refilledAt }: ReportState,
  { reports, refillMs, advance }: ReportCredit,
): Monotonic | undefined {
  if (unseenSince === undefined) return undefined;
  return Math.max(unseenSince + JOIN_MS, refilledAt - (reports + advance - 1) * refillMs);
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
