// What the columns READY, STATUS and RESTARTS say of a pod: kubectl's words, and what is ours beside them.

import {
  isConditionTrue,
  summarizePod as summarize,
  type PodSummary,
} from "../../api/pod/pod-summary.ts";
import { UPDATE_CONDITIONS } from "../../api/pod/update-condition.ts";
import type { PodView } from "../api-views.ts";

/** Who holds it, and for how long, is what somebody wants to know who waits. */
const HELD = "agent/UpdateHeld";

export function summarizePod(pod: PodView): PodSummary {
  const summary = summarize(pod, pod.metadata.deletionTimestamp !== undefined);
  const notes = Object.entries(UPDATE_CONDITIONS)
    .filter(([type]) => isConditionTrue(pod, type))
    .map(([type, words]) => (type === HELD ? `${words}: ${messageOf(pod, type)}` : words));
  if (notes.length === 0) return summary;
  return { ...summary, status: `${summary.status} (${notes.join(", ")})` };
}

function messageOf({ status }: PodView, wanted: string): string {
  return status.conditions?.find(({ type }) => type === wanted)?.message ?? "";
}
