import { describe, expect, test } from "bun:test";
import { aContainer } from "../fakes/a-pod.ts";
import { PodWorld, pod } from "./pod-world.ts";
import { GrpcCode } from "../../src/lib/grpc-code.ts";

const INIT = { initContainers: [aContainer("setup")], containers: [aContainer("app")] };

function waiting(world: PodWorld): readonly (string | undefined)[] {
  const status = world.pods.statuses.get("web-1")?.status;
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  return [...initContainerStatuses, ...containerStatuses].map(({ state }) => state.waiting?.reason);
}

describe("why containers wait", () => {
  test("a sandbox that was refused is nobody's reason once it is there", async () => {
    using world = new PodWorld();
    await world.start();
    const refused = { type: "fail", code: GrpcCode.UNKNOWN, details: "no pause image" } as const;
    world.runtime.faults.order("runPodSandbox", refused);
    await world.desire([pod("web", "1", INIT)]);
    expect(waiting(world)).toEqual(["CreatePodSandboxError", "CreatePodSandboxError"]);
    await world.clock.advance(5_000);
    expect(world.running()).toEqual(["web/setup/0"]);
    expect(waiting(world)).toEqual([undefined, "PodInitializing"]);
  });

  test("nor is one whose call had no answer and that was found later", async () => {
    using world = new PodWorld();
    await world.start();
    const lost = { type: "fail", code: GrpcCode.UNAVAILABLE, details: "gone", effect: "happens" };
    world.runtime.faults.order("runPodSandbox", lost as never);
    await world.desire([pod("web", "1", INIT)]);
    await world.clock.advance(5_000);
    expect(world.running()).toEqual(["web/setup/0"]);
    expect(waiting(world)).toEqual([undefined, "PodInitializing"]);
  });

  test("nor is a dependency that is met", async () => {
    using world = new PodWorld();
    await world.start();
    const web = pod("web", "1", INIT);
    const { metadata } = web.pod;
    const annotations = { ...metadata.annotations, "agent/depends-on": "default/db:Running" };
    const dependent = { ...web, pod: { ...web.pod, metadata: { ...metadata, annotations } } };
    await world.desire([dependent]);
    expect(waiting(world)).toEqual(["DependencyNotReady", "DependencyNotReady"]);
    await world.desire([dependent, pod("db")]);
    await world.clock.advance(5_000);
    expect(world.running()).toEqual(["db/a/0", "web/setup/0"]);
    expect(waiting(world)).toEqual([undefined, "PodInitializing"]);
  });

  test("an image that cannot be pulled stays the reason of its own container", async () => {
    using world = new PodWorld();
    await world.start();
    const containers = [aContainer("app"), aContainer("other", { image: "never:1" })];
    await world.desire([pod("web", "1", { containers })]);
    await world.clock.advance(5_000);
    expect(waiting(world)).toEqual([undefined, "ErrImagePull"]);
  });
});

test("a container that was made and never started takes nothing from the back-off of the one before it", async () => {
  using world = new PodWorld({ program: () => ({ exitsAfterMs: 1_000, exitCode: 1 }) });
  await world.start();
  await world.desire([pod("web")]);
  expect(world.running()).toEqual(["web/a/0"]);
  // The agent dies between the calls that make and start the next one.
  world.runtime.faults.order("startContainer", { type: "delay", ms: 60_000 });
  await world.clock.advance(2_000);
  await world.kill();
  await world.start();
  await world.desire([pod("web")]);
  await world.clock.advance(500);
  expect(world.running()).toEqual(["web/a/1"]);
  await world.clock.advance(8_000);
  expect(world.running()).toEqual([]);
  await world.clock.advance(3_200);
  expect(world.running()).toEqual(["web/a/2"]);
});
