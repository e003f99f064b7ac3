// Pods that the node refuses while the runtime is away, after their first call: what came to nothing does not begin with the
// return of the runtime, and what has begun goes on.

import { expect, test } from "bun:test";
import { NOTHING_DESIRED } from "../../../src/api/pod/desired-pod.ts";
import { GrpcCode } from "../../../src/lib/grpc-code.ts";
import { PodWorld, pod } from "../../agent/pod-world.ts";
import type { Fault } from "../../fakes/fake-cri-faults.ts";

const MINUTE = 60_000;
const AWAY = { type: "fail", code: GrpcCode.UNAVAILABLE, details: "away" } as const;

/** The runtime is away since the pod's first call, of which the answer is `first`. */
async function refusedWhileAway(first: Fault): Promise<PodWorld> {
  const world = new PodWorld();
  await world.start();
  const { faults } = world.runtime;
  faults.order("runPodSandbox", first);
  for (const call of ["listPodSandbox", "listContainers", "runPodSandbox"] as const)
    faults.order(call, AWAY, { times: Number.POSITIVE_INFINITY });
  await world.desire([pod("web")]);
  world.runner.workers.apply({
    ...NOTHING_DESIRED,
    ready: new Set(["file"]),
    held: new Set(["default/web"]),
  });
  await world.clock.advance(MINUTE);
  expect(world.pods.workers.entries()).toHaveLength(1);
  faults.clear();
  await world.clock.advance(2 * MINUTE);
  return world;
}

test("what came to nothing does not begin", async () => {
  using world = await refusedWhileAway(AWAY);
  expect(world.running()).toEqual([]);
  expect(world.pods.workers.entries()).toEqual([]);
});

test("what has begun goes on", async () => {
  using world = await refusedWhileAway({ ...AWAY, effect: "happens" });
  expect(world.running()).toEqual(["web/a/0"]);
});

test("what was refused before its source had synced begins when it is wanted again, unchanged", async () => {
  using world = new PodWorld();
  await world.start();
  const { faults } = world.runtime;
  for (const call of ["listPodSandbox", "listContainers", "runPodSandbox"] as const)
    faults.order(call, AWAY, { times: Number.POSITIVE_INFINITY });
  const web = pod("web");
  await world.desire([web]);
  const { workers } = world.runner;
  workers.apply({ ...NOTHING_DESIRED, held: new Set(["default/web"]) });
  faults.clear();
  await world.clock.advance(2 * MINUTE);
  expect(world.running()).toEqual([]);
  await world.desire([web]);
  await world.clock.advance(MINUTE);
  expect(world.running()).toEqual(["web/a/0"]);
});
