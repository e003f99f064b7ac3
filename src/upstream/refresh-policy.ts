// Decides what is published again although the broker has acknowledged the same content before.

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
