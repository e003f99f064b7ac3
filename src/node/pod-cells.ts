// A pod as kubectl prints it in a row: READY, STATUS, RESTARTS, with what became of an update and how far a pull is.

import { humanDuration } from "../api/resource/duration.ts";
import { isConditionTrue, summarizePod, type PodSummary } from "../api/pod/pod-summary.ts";
import { UPDATE_CONDITIONS } from "../api/pod/update-condition.ts";
import type { PodView } from "./api-views.ts";

export interface PodCells {
  /** `1/2`. */
  readonly ready: string;
  readonly status: string;
  /** `3 (5m ago)`. */
  readonly restarts: string;
}

/** Shown with its message: who holds the update, and for how long. */
const HELD = "agent/UpdateHeld";

/** As `withPulls` words it. */
const PULLING = /^pulling image ".*": (.*)$/;

/** `now`: wall-clock ms, for the age of the last restart. */
export function podCells(pod: PodView, now: number): PodCells {
  const summary = podSummary(pod);
  return {
    ready: `${summary.ready}/${summary.containers}`,
    status: summary.status,
    restarts: restarts(summary, now),
  };
}

/** kubectl's words and numbers; behind the status what became of an update, and how far a pull is. */
export function podSummary(pod: PodView): PodSummary {
  const summary = summarizePod(pod, pod.metadata.deletionTimestamp !== undefined);
  const notes = Object.entries(UPDATE_CONDITIONS)
    .filter(([type]) => isConditionTrue(pod, type))
    .map(([type, words]) => (type === HELD ? `${words}: ${messageOf(pod, type)}` : words));
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status;
  for (const { state } of [...initContainerStatuses, ...containerStatuses]) {
    const bytes = PULLING.exec(state.waiting?.message ?? "")?.[1];
    if (bytes !== undefined) notes.push(`pulling ${bytes}`);
  }
  if (notes.length === 0) return summary;
  return { ...summary, status: `${summary.status} (${notes.join(", ")})` };
}

function messageOf({ status }: PodView, wanted: string): string {
  return status.conditions?.find(({ type }) => type === wanted)?.message ?? "";
}

function restarts({ restarts: count, lastRestart }: PodSummary, now: number): string {
  if (count === 0 || lastRestart === undefined) return String(count);
  return `${count} (${humanDuration(now - Date.parse(lastRestart))} ago)`;
}
