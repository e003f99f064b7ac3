// What the columns READY, STATUS and RESTARTS say of a pod: kubectl's words, and what is ours beside them.

import { isConditionTrue, summarizePod as summarize, type PodSummary } from "../api/pod-summary.ts";
import { UPDATE_CONDITIONS } from "../api/update-condition.ts";
import type { PodView } from "./api-views.ts";

export function summarizePod(pod: PodView): PodSummary {
  const summary = summarize(pod, pod.metadata.deletionTimestamp !== undefined);
  const notes = Object.entries(UPDATE_CONDITIONS)
    .filter(([type]) => isConditionTrue(pod, type))
    .map(([, words]) => words);
  if (notes.length === 0) return summary;
  return { ...summary, status: `${summary.status} (${notes.join(", ")})` };
}
