import { expect, test } from "bun:test";
import type { Probe } from "../../src/api/v1/probe.ts";
import { aContainer } from "../fakes/a-pod.ts";
import { PodWorld, pod } from "./pod-world.ts";

const readinessProbe: Probe = {
  handler: { type: "exec", command: ["ready"] },
  initialDelaySeconds: 0,
  periodSeconds: 1,
  timeoutSeconds: 1,
  successThreshold: 1,
  failureThreshold: 1,
};

function shown(world: PodWorld): readonly string[] {
  const { containerStatuses = [] } = world.pods.statuses.get("web-1")?.status ?? {};
  return containerStatuses.map(({ name, ready, state }) => {
    return `${name} ${state.waiting?.reason ?? "runs"} ${ready ? "ready" : "unready"}`;
  });
}

test("a long postStart hook of one container does not keep the probes of another from speaking", async () => {
  let exitCode = 1;
  using world = new PodWorld({ exec: () => ({ exitCode }) });
  await world.start();
  const slow = { lifecycle: { postStart: { type: "sleep", seconds: 60 } } } as const;
  const containers = [aContainer("a", { readinessProbe }), aContainer("b", slow)];
  await world.desire([pod("web", "1", { containers })]);
  await world.clock.advance(10_000);
  expect(shown(world)).toEqual(["a runs unready", "b ContainerCreating unready"]);
  exitCode = 0;
  await world.clock.advance(5_000);
  expect(shown(world)).toEqual(["a runs ready", "b ContainerCreating unready"]);
  await world.clock.advance(60_000);
  expect(shown(world)).toEqual(["a runs ready", "b runs ready"]);
});
