// What the columns READY, STATUS and RESTARTS say of a pod: kubectl's words, and what is ours beside them.

import { isConditionTrue, summarizePod as summarize, type PodSummary } from "../api/pod-summary.ts";
import type { PodView } from "./api-views.ts";

/** The condition of a pod that still runs while its replacement pulls or waits. */
const UPDATE_PENDING = "agent/UpdatePending";

export function summarizePod(pod: PodView): PodSummary {
  const summary = summarize(pod, pod.metadata.deletionTimestamp !== undefined);
  if (!isConditionTrue(pod, UPDATE_PENDING)) return summary;
  return { ...summary, status: `${summary.status} (update pending)` };
}
