// Pods that the node itself ends: they get the time that it gives, over a restart of the agent and with a full disk.

import { expect, test } from "bun:test";
import { PodWorld, pod } from "../../agent/pod-world.ts";
import { removalOf } from "../../../src/podworkers/plan-workers.ts";

/** A program that does not obey. */
const web = pod("web", "1", { terminationGracePeriodSeconds: 600 });
const SHUTDOWN = removalOf({ ...web.pod.metadata, uid: web.uid }, "Shutdown");
const MESSAGE = "The node ends it.";

async function running(): Promise<PodWorld> {
  const world = new PodWorld(
    { program: () => ({ stopsAfterMs: Number.POSITIVE_INFINITY }) },
    {
      graceByNode: () => 5,
      endedByNode: () => ({ code: "Terminated", message: MESSAGE }),
    },
  );
  await world.start();
  await world.desire([web]);
  expect(world.running()).toEqual(["web/a/0"]);
  return world;
}

test("the pod has that much time, shows why, and does not begin anew by itself", async () => {
  using world = await running();
  world.runner.workers.shutDown([SHUTDOWN]);
  await world.clock.advance(4_000);
  expect(world.running()).toEqual(["web/a/0"]);
  expect(world.pods.statuses.status(web.uid)).toMatchObject({
    phase: "Failed",
    reason: "Terminated",
    message: MESSAGE,
  });
  await world.clock.advance(2_000);
  expect(world.running()).toEqual([]);
  await world.clock.advance(60_000);
  expect(world.running()).toEqual([]);
});

test("the next process gives it that much time too", async () => {
  using world = await running();
  world.runner.workers.shutDown([SHUTDOWN]);
  await world.clock.advance(2_000);
  await world.restart();
  await world.desire([]);
  await world.clock.advance(6_000);
  expect(world.running()).toEqual([]);
});

test("the pod that will replace it is refused by a merge only", async () => {
  using world = await running();
  const next = pod("web", "2");
  // It tries again and again, and each time asks whether it may begin.
  world.images.clear();
  await world.desire([next]);
  world.runner.workers.shutDown([SHUTDOWN]);
  await world.clock.advance(4_000);
  expect(world.pods.workers.get(next.uid)).toBeDefined();
  expect(world.pods.workers.get(next.uid)?.removal).toBeUndefined();
});

test("a full disk does not keep it", async () => {
  using world = await running();
  world.diskFull = true;
  world.runner.workers.shutDown([SHUTDOWN]);
  await world.clock.advance(6_000);
  expect(world.running()).toEqual([]);
  expect(world.lines.join("")).toContain("cannot store that a pod stops for the shutdown");
});
