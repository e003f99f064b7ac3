// Volumes of one pod that take long: nobody else waits for them.

import { describe, expect, test } from "bun:test";
import { PodWorld, pod, type Finds } from "./pod-world.ts";

const slow = pod("slow");
const quick = pod("quick");

/** Work of a pod in as many steps; `done` counts those that were begun. */
function work(steps: number) {
  let done = 0;
  function* inSteps(): Generator<void> {
    for (; done < steps; done += 1) yield;
  }
  return { of: (uid: string) => (uid === slow.uid ? inSteps() : []), done: () => done };
}

async function started(finds: Finds): Promise<PodWorld> {
  const world = new PodWorld({}, finds);
  await world.start();
  return world;
}

describe("volumes that take long to set up", () => {
  test("keep no other pod waiting", async () => {
    const { of } = work(3);
    using world = await started({ shareLargeClaims: ({ metadata }) => of(metadata.uid) });
    await world.desire([slow, quick]);
    expect(world.running()).toEqual(["quick/a/0"]);
    await world.clock.advance(0);
    expect(world.running()).toEqual(["quick/a/0", "slow/a/0"]);
  });

  test("are given up with their pod", async () => {
    const { of, done } = work(1_000_000);
    using world = await started({ shareLargeClaims: ({ metadata }) => of(metadata.uid) });
    await world.desire([slow]);
    await world.desire([quick]);
    expect(world.running()).toEqual(["quick/a/0"]);
    const before = done();
    await world.clock.settle();
    expect(done()).toBe(before);
  });
});

test("volumes that take long to remove keep no other pod waiting", async () => {
  const { of, done } = work(3);
  using world = await started({ emptyLargeVolumes: of });
  await world.desire([slow]);
  await world.desire([quick]);
  expect(done()).toBeLessThan(3);
  expect(world.running()).toEqual(["quick/a/0"]);
  await world.clock.advance(0);
  expect(done()).toBe(3);
  expect(world.pods.workers.has(slow.uid)).toBe(false);
});
