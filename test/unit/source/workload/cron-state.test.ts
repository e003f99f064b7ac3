// A CronJob over many starts: which Jobs begin, which are kept, and which end for others.

import { describe, expect, test } from "bun:test";

import type { DesiredCronJob } from "../../../../src/api/workload/desired-job.ts";
import { MAX_HISTORY, type CronSpec } from "../../../../src/api/workload/job.ts";
import {
  NEW_CRON,
  stepCron,
  type CronRun,
  type CronState,
} from "../../../../src/source/workload/cron-state.ts";
import { aPod } from "../../../fakes/a-pod.ts";

const MINUTE = 60_000;
const BEGIN = Date.parse("2026-03-01T00:00:30Z");

function cronJob(cron: Partial<CronSpec> = {}): DesiredCronJob {
  return {
    kind: "CronJob",
    namespace: "default",
    name: "tick",
    annotations: {},
    source: "file",
    sourceRef: "tick.yaml#0",
    cron: {
      schedule: "* * * * *",
      concurrencyPolicy: "Allow",
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      ...cron,
    },
    spec: { backoffLimit: 6, suspend: false, completionMode: "NonIndexed" },
    sample: aPod(),
  };
}

type End = "Complete" | "Failed" | undefined;

function ends(run: CronRun, type: End): CronRun {
  if (type === undefined || run.state.end !== undefined) return run;
  return { ...run, state: { ...run.state, end: { type, reason: "", message: "" } } };
}

/** Minute after minute; `endOf` of each Job by its number, which it has a minute after its start. */
function after(
  minutes: number,
  desired: DesiredCronJob,
  endOf: (start: number) => End = () => "Complete",
): CronState {
  let state: CronState = NEW_CRON;
  for (let minute = 0; minute <= minutes; minute += 1) {
    const facts = {
      now: BEGIN + minute * MINUTE,
      isTrusted: true,
      bootId: "boot",
      uidOf: (name: string) => `uid of ${name}`,
    };
    const runs = state.runs.map((run) => ends(run, endOf(numberOf(run))));
    state = stepCron(desired, { ...state, runs }, facts).state;
  }
  return state;
}

/** 1 for the Job of the first minute. */
function numberOf({ name }: CronRun): number {
  return Number(name.replace("tick-", "")) - Math.floor(BEGIN / MINUTE);
}

describe("a CronJob", () => {
  test("keeps as many ended Jobs of each kind as its history may have, and all that run", () => {
    const isGood = (start: number): End =>
      start === 2 ? undefined : start % 2 === 0 ? "Failed" : "Complete";
    expect(after(12, cronJob(), isGood).runs.map(numberOf)).toEqual([2, 7, 9, 10, 11, 12]);
  });

  test("keeps no more than this node stores, whatever its history may have", () => {
    const desired = cronJob({ successfulJobsHistoryLimit: 2_147_483_647 });
    const { runs } = after(100, desired);
    // Those that have ended, and the one that has just begun.
    expect(runs).toHaveLength(MAX_HISTORY + 1);
    expect(runs.map(numberOf).at(-1)).toBe(100);
  });

  test("keeps nothing that has ended if it may keep nothing", () => {
    const none = { successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0 };
    expect(after(5, cronJob(none)).runs.map(numberOf)).toEqual([5]);
  });

  test("replaces only what still runs", () => {
    const desired = cronJob({ concurrencyPolicy: "Replace" });
    const hangs = (start: number): End => (start === 2 ? "Complete" : undefined);
    expect(after(5, desired, hangs).runs.map(numberOf)).toEqual([2, 5]);
  });

  test("gives each Job the spec of its start", () => {
    const first = after(1, cronJob());
    const edited = { ...cronJob(), spec: { ...cronJob().spec, backoffLimit: 1 } };
    const facts = { now: BEGIN + 2 * MINUTE, isTrusted: true, bootId: "boot", uidOf: String };
    const { runs } = stepCron(edited, first, facts).state;
    expect(runs.map(({ spec }) => spec.backoffLimit)).toEqual([6, 1]);
  });
});
