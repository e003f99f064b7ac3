// Deliberate bugs in Jobs and schedules; `job-days.ts` finds them.

import type { Mutation } from "./mutations.ts";

const CRON = "src/source/workload/cron-decision.ts";
const CONTROLLER = "src/source/workload/run-controller.ts";

export const JOB_MUTATIONS: readonly Mutation[] = [
  {
    name: "the newest start of a schedule is forgotten",
    simulation: "jobs",
    file: CRON,
    search: "return Math.max(since, last);",
    replacement: "return Math.max(since, last - 3_600_000);",
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
    file: "src/api/workload/next-run.ts",
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
  {
    name: "Forbid forbids the third Job only",
    simulation: "jobs",
    file: CRON,
    search: 'if (active > 0 && terms.concurrencyPolicy === "Forbid")',
    replacement: 'if (active > 1 && terms.concurrencyPolicy === "Forbid")',
  },
  {
    name: "Replace ends no Job",
    simulation: "jobs",
    file: "src/source/workload/cron-state.ts",
    search: "? kept.runs.filter(({ state: { end } }) => end !== undefined)",
    replacement: "? kept.runs",
  },
  {
    name: "a suspended Job runs on",
    simulation: "jobs",
    file: "src/source/workload/job-state.ts",
    search: "if (spec.suspend) return suspended(counted);",
    replacement: "",
  },
  {
    name: "a missed start has no deadline",
    simulation: "jobs",
    file: CRON,
    search: "Math.max(known, now - deadline * 1000)",
    replacement: "known",
  },
];
