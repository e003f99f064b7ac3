// Volumes of one pod that take long: nobody else waits for them.

import { describe, expect, test } from "bun:test";
import { PodWorld, pod, type Finds } from "./pod-world.ts";

const slow = pod("slow");
const quick = pod("quick");

/** Work of a pod in as many steps; `done` counts those that were begun, `onStep` sees each of them. */
function work(steps: number, onStep: () => void = () => undefined) {
  let done = 0;
  function* inSteps(): Generator<void> {
    for (; done < steps; done += 1) {
      onStep();
      yield;
    }
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
    const beside: (readonly string[])[] = [];
    const { of } = work(6, () => beside.push(world.running()));
    using world = await started({ shareLargeClaims: ({ metadata }) => of(metadata.uid) });
    await world.desire([slow, quick]);
    expect(beside.at(0)).toEqual([]);
    expect(beside.at(-1)).toEqual(["quick/a/0"]);
    expect(world.running()).toEqual(["quick/a/0", "slow/a/0"]);
  });

  test("are given up with their pod", async () => {
    let steps = 0;
    // In the middle of it.
    const { of, done } = work(1_000, () => {
      steps += 1;
      if (steps === 10) void world.desire([quick]);
    });
    using world = await started({ shareLargeClaims: ({ metadata }) => of(metadata.uid) });
    await world.desire([slow]);
    expect(done()).toBeLessThan(20);
    expect(world.running()).toEqual(["quick/a/0"]);
  });
});

test("volumes that take long to remove keep no other pod waiting", async () => {
  const beside: (readonly string[])[] = [];
  const { of, done } = work(4, () => beside.push(world.running()));
  using world = await started({ emptyLargeVolumes: of });
  await world.desire([slow]);
  await world.desire([quick]);
  expect(beside.at(0)).toEqual([]);
  expect(beside.at(-1)).toEqual(["quick/a/0"]);
  expect(done()).toBe(4);
  expect(world.pods.workers.has(slow.uid)).toBe(false);
});
