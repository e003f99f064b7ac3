// Decides what is published again although the broker has acknowledged the same before.

/** Nothing, the report alone, or the report and every pod topic. */
export type Again = "nothing" | "report" | "all";

/** Pod topics cost most of the bytes and hardly ever need it: they go with every fourth refresh. */
const PODS_EVERY = 4;

/** Of the n-th refresh (1, 2, 3 …) without a change. */
export function againAtRefresh(count: number): Again {
  return count % PODS_EVERY === 0 ? "all" : "report";
}

/** At the begin of a session. Where the broker was restored from an older copy, a session it still knows is no proof of
 * what it retains, neither of the report nor of the pods; a metered line waits for the refresh. */
export function againAtConnect(sessionPresent: boolean, profile: "normal" | "metered"): Again {
  return sessionPresent && profile === "metered" ? "nothing" : "all";
}

/** Both are owed. */
export function both(a: Again, b: Again): Again {
  if (a === "all" || b === "all") return "all";
  return a === "report" || b === "report" ? "report" : "nothing";
}
