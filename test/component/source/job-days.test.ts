// Thousands of random days of Jobs and CronJobs: what runs is what Kubernetes documents.
// `AGENT_JOB_SEED=<seed>` replays one, `AGENT_JOB_SEEDS=5000` runs more of them.

import { expect, test } from "bun:test";

import { simulateJobDays } from "../../fakes/job-days.ts";
import { JobNode } from "../../fakes/job-node.ts";
import { job } from "../../fakes/job-scene.ts";
import { Mulberry32 } from "../../fakes/mulberry32.ts";

const only = process.env["AGENT_JOB_SEED"];
const first = Number(only ?? 0);
const count = only === undefined ? Number(process.env["AGENT_JOB_SEEDS"] ?? 20) : 1;

test("what runs is what Kubernetes documents, on every seed", async () => {
  for (let seed = first; seed < first + count; seed += 1)
    expect([seed, await simulateJobDays(seed)]).toEqual([seed, { violation: undefined }]);
}, 3_600_000);

test("what is due is tried again every ten seconds while the disk takes nothing", async () => {
  const begun: number[] = [];
  using node: JobNode = new JobNode(new Mulberry32(1), {
    decides: () => undefined,
    begins: () => {
      begun.push(node.clock.monotonic());
      return { exitsAfterMs: 1000, exitCode: 1 };
    },
  });
  node.start();
  node.write([job("bad")]);
  // The second pod is due ten seconds after the first has failed.
  await node.clock.advance(8000);
  node.diskFull = true;
  await node.clock.advance(60_000);
  expect(begun).toHaveLength(1);
  node.diskFull = false;
  await node.clock.advance(13_000);
  expect(begun).toHaveLength(2);
});
