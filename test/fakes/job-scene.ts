// Jobs and CronJobs as they are written, and the ones whose days are simulated.

import type { CronTerms, JobTerms } from "./job-model.ts";
import type { Mulberry32 } from "./mulberry32.ts";

const MINUTE = 60_000;

interface JobRecipe {
  readonly spec?: object;
  readonly restartPolicy?: "Never" | "OnFailure";
  readonly command?: string;
}

function jobSpec({ spec = {}, restartPolicy = "Never", command = "run" }: JobRecipe): object {
  const containers = [{ name: "a", image: "local/busybox:1", command: [command] }];
  return { ...spec, template: { spec: { restartPolicy, containers } } };
}

export function job(name: string, recipe: JobRecipe = {}): object {
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec: jobSpec(recipe) };
}

export function cronJob(
  name: string,
  schedule: string,
  more: object = {},
  recipe: JobRecipe = {},
): object {
  const spec = { schedule, ...more, jobTemplate: { spec: jobSpec(recipe) } };
  return { apiVersion: "batch/v1", kind: "CronJob", metadata: { name }, spec };
}

const BRIEF = { lastsMs: 100_000, failure: 0.1 };
const ONE: JobTerms = { completions: 1, parallelism: 1, backoffLimit: 6, ...BRIEF };
/** Longer than from one start to the next, now and then. */
const LONG: JobTerms = { ...ONE, lastsMs: 70 * MINUTE };

const JOBS: Readonly<Record<string, JobTerms>> = {
  work: { completions: 4, parallelism: 2, backoffLimit: 3, lastsMs: 100_000, failure: 0.2 },
  shards: { ...BRIEF, completions: 5, parallelism: 2, backoffLimit: 200, indexed: true },
  again: { ...ONE, restarts: true, failure: 0.3 },
};
const CRONS: Readonly<Record<string, CronTerms>> = {
  tick: { every: 20, concurrencyPolicy: "Allow", job: ONE },
  late: { every: 60, concurrencyPolicy: "Allow", startingDeadlineSeconds: 600, job: ONE },
  lone: { every: 30, concurrencyPolicy: "Forbid", job: LONG },
  fresh: { every: 30, concurrencyPolicy: "Replace", job: LONG },
};
/** The others take part in some seeds only. */
const ALWAYS: ReadonlySet<string> = new Set(["work", "tick"]);

export interface JobScene {
  readonly jobs: Readonly<Record<string, JobTerms>>;
  readonly crons: Readonly<Record<string, CronTerms>>;
}

export function someOf(dice: Mulberry32): JobScene {
  const takesPart = ([name]: readonly [string, unknown]): boolean =>
    ALWAYS.has(name) || dice.chance(0.4);
  return {
    jobs: Object.fromEntries(Object.entries(JOBS).filter(takesPart)),
    crons: Object.fromEntries(Object.entries(CRONS).filter(takesPart)),
  };
}

export function objectsOf(
  { jobs, crons }: JobScene,
  suspended: ReadonlySet<string>,
): readonly object[] {
  return [
    ...Object.entries(jobs).map(([name, terms]) => {
      const { completions, parallelism, backoffLimit, indexed, restarts } = terms;
      const spec = {
        completions,
        parallelism,
        backoffLimit,
        suspend: suspended.has(name),
        ...(indexed === true ? { completionMode: "Indexed" } : {}),
      };
      return job(name, { spec, restartPolicy: restarts === true ? "OnFailure" : "Never" });
    }),
    ...Object.entries(crons).map(([name, { every, concurrencyPolicy, ...terms }]) => {
      const { startingDeadlineSeconds } = terms;
      const schedule = every === 60 ? "0 * * * *" : `*/${every} * * * *`;
      const more = startingDeadlineSeconds === undefined ? {} : { startingDeadlineSeconds };
      return cronJob(name, schedule, { concurrencyPolicy, timeZone: "Europe/Berlin", ...more });
    }),
  ];
}
