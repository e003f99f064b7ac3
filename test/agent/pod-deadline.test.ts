import { describe, expect, test } from "bun:test";
import type { DesiredPod } from "../../src/api/pod/desired-pod.ts";
import { PodWorld, pod } from "./pod-world.ts";

function phase(world: PodWorld, uid = "web-1"): readonly (string | undefined)[] {
  const status = world.pods.statuses.get(uid)?.status;
  return [status?.phase, status?.reason];
}

function dependent(on: string, limited: DesiredPod): DesiredPod {
  const annotations = { "agent/depends-on": on };
  const metadata = { ...limited.pod.metadata, annotations };
  return { ...limited, pod: { ...limited.pod, metadata } };
}

const limited = pod("web", "1", { activeDeadlineSeconds: 60 });

describe("a pod with a deadline", () => {
  test("fails when its time is over, is stopped, and stays failed in the next process", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([limited]);
    await world.clock.advance(59_000);
    expect(world.running()).toEqual(["web/a/0"]);
    await world.clock.advance(10_000);
    expect(world.running()).toEqual([]);
    expect(phase(world)).toEqual(["Failed", "DeadlineExceeded"]);
    await world.restart();
    await world.desire([limited]);
    await world.clock.advance(120_000);
    expect(world.running()).toEqual([]);
    expect(phase(world)).toEqual(["Failed", "DeadlineExceeded"]);
  });

  test("begins from nothing when it is removed and added again", async () => {
    using world = new PodWorld();
    await world.start();
    await world.desire([limited]);
    await world.clock.advance(120_000);
    await world.desire([]);
    await world.clock.advance(5_000);
    await world.desire([limited]);
    await world.clock.advance(5_000);
    expect(world.running()).toEqual(["web/a/0"]);
    expect(phase(world)).toEqual(["Running", undefined]);
  });

  test("does not spend its time on waiting for those it depends on", async () => {
    using world = new PodWorld();
    await world.start();
    const web = dependent("db:Running", limited);
    await world.desire([web]);
    await world.clock.advance(120_000);
    await world.desire([web, pod("db")]);
    await world.clock.advance(5_000);
    expect(world.running()).toEqual(["db/a/0", "web/a/0"]);
    expect(phase(world)).toEqual(["Running", undefined]);
  });

  test("does not spend its time on waiting for its predecessor to stop", async () => {
    using world = new PodWorld({ program: () => ({ stopsAfterMs: 25_000 }) });
    await world.start();
    await world.desire([pod("web", "0")]);
    await world.desire([pod("web", "1", { activeDeadlineSeconds: 10 })]);
    await world.clock.advance(30_000);
    expect(world.running()).toEqual(["web/a/0"]);
    expect(phase(world)).toEqual(["Running", undefined]);
  });
});

test("a pod that depends on another is not stopped when that one is lost later", async () => {
  using world = new PodWorld();
  await world.start();
  const web = dependent("db:Running", pod("web"));
  await world.desire([web, pod("db")]);
  await world.clock.advance(5_000);
  await world.desire([web]);
  await world.clock.advance(60_000);
  expect(world.running()).toEqual(["web/a/0"]);
});
