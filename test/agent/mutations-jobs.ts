// Deliberate bugs in Jobs and schedules; `sim-jobs.ts` finds them.

import type { Mutation } from "./mutations.ts";

const CRON = "src/source/workload/cron-decision.ts";
const CONTROLLER = "src/source/workload/run-controller.ts";

export const JOB_MUTATIONS: readonly Mutation[] = [
  {
    name: "the newest start of a schedule is forgotten",
    simulation: "jobs",
    file: CRON,
    search: "const known = Math.max(since ?? 0, last ?? 0);",
    replacement: "const known = Math.max(since ?? 0, (last ?? 0) - 3_600_000);",
  },
  {
    name: "a schedule believes any clock",
    simulation: "jobs",
    file: CRON,
    search: "if (!isTrusted) return",
    replacement: "if (!isTrusted && active > 99) return",
  },
  {
    name: "every missed start is made up for",
    simulation: "jobs",
    file: "src/source/workload/next-run.ts",
    search: "last = next;",
    replacement: "last ??= next;",
  },
  {
    name: "what a Job has run is not stored",
    simulation: "jobs",
    file: CONTROLLER,
    search: "store.runs.put([{ source, name, state: textOf(next) }]);",
    replacement: "void textOf(next);",
  },
  {
    name: "an ended pod of a Job is not remembered as such",
    simulation: "jobs",
    file: "src/source/workload/job-state.ts",
    search: "? { ...pod, ended: how } : pod",
    replacement: "? pod : pod",
  },
];
