// Random days of Jobs and CronJobs; a failing seed is replayed with `AGENT_JOB_SEED=<seed>`.

import { expect, test } from "bun:test";

import { simulateJobs } from "./sim-jobs.ts";

const first = Number(process.env["AGENT_JOB_SEED"] ?? 0);
const count = process.env["AGENT_JOB_SEED"] === undefined ? 4 : 1;

test("what runs is what Kubernetes documents, on every seed", async () => {
  for (let seed = first; seed < first + count; seed += 1) {
    const { violation } = await simulateJobs(seed);
    expect([seed, violation]).toEqual([seed, undefined]);
  }
}, 300_000);
