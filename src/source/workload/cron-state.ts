// A CronJob between two starts: the newest minute that was started, and its Jobs with all that their pods are made of, so
// that an edit of the CronJob changes no Job that has begun.

import type { DesiredCronJob } from "../../api/workload/desired-job.ts";
import { MAX_HISTORY, type JobSpec } from "../../api/workload/job.ts";
import type { Instant } from "../../api/workload/wall-time.ts";
import { decideCron, type CronDecision, type CronFacts } from "./cron-decision.ts";
import { NEVER, parseSchedule, type Schedule } from "../../api/workload/cron-schedule.ts";
import { newJob, type JobState } from "./job-state.ts";
import { withoutUndefined } from "../../lib/json.ts";

export interface CronRun {
  /** `backup-29384756`: the minutes since 1970, as in Kubernetes. */
  readonly name: string;
  readonly uid: string;
  readonly spec: JobSpec;
  readonly state: JobState;
}

export interface CronState {
  readonly since?: Instant;
  readonly last?: Instant;
  /** Oldest first. */
  readonly runs: readonly CronRun[];
}

export const NEW_CRON: CronState = { runs: [] };

export interface CronStep {
  readonly state: CronState;
  readonly decision: CronDecision;
}

interface CronStepFacts extends Omit<CronFacts, "active"> {
  readonly bootId: string;
  readonly uidOf: (name: string) => string;
}

/** After the Jobs themselves were stepped. */
export function stepCron(
  desired: DesiredCronJob,
  state: CronState,
  facts: CronStepFacts,
): CronStep {
  const { cron, spec, name } = desired;
  const kept = withoutHistory(cron, state);
  const active = kept.runs.filter(({ state: { end } }) => end === undefined).length;
  const terms = {
    ...cron,
    schedule: scheduleOf(cron.schedule),
    ...withoutUndefined({ zone: cron.timeZone }),
  };
  const decision = decideCron(terms, kept, { ...facts, active });
  switch (decision.type) {
    case "Wait":
      return { state: kept, decision };
    case "Begin":
      return { state: { since: decision.since, runs: kept.runs }, decision };
    case "Start": {
      const runName = `${name}-${Math.floor(decision.at / 60_000)}`;
      const run = { name: runName, uid: facts.uidOf(runName), spec, state: newJob(facts.bootId) };
      const others = decision.replace
        ? kept.runs.filter(({ state: { end } }) => end !== undefined)
        : kept.runs;
      return { state: { ...kept, last: decision.at, runs: [...others, run] }, decision };
    }
  }
}

/** One that this agent would refuse never comes. */
export function scheduleOf(text: string): Schedule {
  const schedule = parseSchedule(text);
  return typeof schedule === "string" ? NEVER : schedule;
}

/** Keeps the newest Jobs that have ended, as many as the history may have. */
function withoutHistory(
  { successfulJobsHistoryLimit, failedJobsHistoryLimit }: DesiredCronJob["cron"],
  state: CronState,
): CronState {
  const old = new Set([
    ...oldest(state.runs, "Complete", successfulJobsHistoryLimit),
    ...oldest(state.runs, "Failed", failedJobsHistoryLimit),
  ]);
  return old.size === 0 ? state : { ...state, runs: state.runs.filter((run) => !old.has(run)) };
}

function oldest(
  runs: readonly CronRun[],
  type: "Complete" | "Failed",
  limit: number,
): readonly CronRun[] {
  const ended = runs.filter(({ state: { end } }) => end?.type === type);
  return ended.slice(0, Math.max(0, ended.length - Math.min(limit, MAX_HISTORY)));
}
