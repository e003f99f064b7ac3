// The whole agent against a machine and a broker in memory, told as short stories.

import { expect, test } from "bun:test";
import type { ReportedState } from "../../src/protocol/reported-state.ts";
import { aSpec } from "./answer-stage.ts";
import { IMAGE } from "./pod-world.ts";
import { TOPIC } from "./sim-authority.ts";
import { uidOfWritten } from "./sim-manifest.ts";
import type { SimSpec } from "./sim-specs.ts";
import type { SimAct } from "./sim-steps.ts";
import { SimWorld } from "./sim-world.ts";

/** A seed whose world has a broker and answers at once; its first web has a readiness probe and runs for ever. */
const CALM_SEED = 16_366;

async function perform(
  world: SimWorld,
  acts: readonly (readonly [SimAct, number])[],
): Promise<void> {
  for (const [act, pause] of acts) await world.perform({ ...act, pause });
  expect(world.judge.violation).toBeUndefined();
}

function reported(world: SimWorld): ReportedState | undefined {
  const text = world.machine.broker.retained(TOPIC.reported);
  return text === undefined ? undefined : (JSON.parse(text) as ReportedState);
}

function readyCondition(world: SimWorld): string | undefined {
  return reported(world)?.status.conditions.find(({ type }) => type === "Ready")?.status;
}

test("a report that a full disk refuses is made as soon as there is room", async () => {
  using world = new SimWorld(CALM_SEED);
  await perform(world, [
    [{ type: "Start" }, 20_000],
    [{ type: "Write", name: "web", version: 1, how: "rename" }, 40_000],
    [{ type: "Disk", failures: 1_000 }, 0],
    [{ type: "Health", name: "web", healthy: false }, 15_000],
  ]);
  expect(reported(world)?.pods).toMatchObject([{ name: "web", ready: "1/1" }]);
  // Nothing changes any more, and the next refresh is far.
  await perform(world, [[{ type: "Disk", failures: 0 }, 30_000]]);
  expect(reported(world)?.pods).toMatchObject([{ name: "web", ready: "0/1" }]);
});

test("a disk that is full when the broker goes does not end the agent", async () => {
  using world = new SimWorld(CALM_SEED);
  await perform(world, [
    [{ type: "Start" }, 20_000],
    [{ type: "Write", name: "web", version: 1, how: "rename" }, 40_000],
    [{ type: "Broker", how: "losesPubacks" }, 0],
    [{ type: "Health", name: "web", healthy: false }, 8_000],
    [{ type: "Health", name: "web", healthy: true }, 7_000],
    [{ type: "Disk", failures: 1_000 }, 0],
    [{ type: "Broker", how: "cut" }, 2_000],
    [{ type: "Disk", failures: 0 }, 0],
    [{ type: "Broker", how: "well" }, 120_000],
  ]);
  expect(reported(world)?.pods).toMatchObject([{ name: "web", ready: "1/1" }]);
});

test("the report tells that the runtime is gone, and that it is back", async () => {
  using world = new SimWorld(CALM_SEED);
  await perform(world, [
    [{ type: "Start" }, 20_000],
    [{ type: "Daemon", up: false }, 60_000],
  ]);
  expect(readyCondition(world)).toBe("False");
  await perform(world, [[{ type: "Daemon", up: true }, 30_000]]);
  expect(readyCondition(world)).toBe("True");
});

test("a late will is not the last word", async () => {
  using world = new SimWorld(CALM_SEED);
  await perform(world, [
    [{ type: "Start" }, 20_000],
    [{ type: "LateWill" }, 0],
  ]);
  expect(world.machine.broker.retained(TOPIC.state)).toContain('"lost"');
  await perform(world, [[{ type: "Wait" }, 60_000]]);
  expect(world.machine.broker.retained(TOPIC.state)).toContain('"online"');
});

test("what is retained of a pod stands while nothing is known of it yet", async () => {
  using world = new SimWorld(CALM_SEED);
  const { broker } = world.machine;
  await perform(world, [
    [{ type: "Start" }, 20_000],
    [{ type: "Write", name: "web", version: 1, how: "rename" }, 40_000],
    [{ type: "Stop" }, 2_000],
    [{ type: "Daemon", up: false }, 0],
    [{ type: "Start" }, 60_000],
  ]);
  expect(readyCondition(world)).toBe("False");
  expect(broker.retained(TOPIC.pod("web"))).toContain('"phase":"Running"');
  await perform(world, [
    [{ type: "Daemon", up: true }, 30_000],
    [{ type: "Delete", name: "web", how: "delete" }, 60_000],
  ]);
  expect(broker.retained(TOPIC.pod("web"))).toBeUndefined();
});

test("a container that has ended well while the runtime was away does not run again for its probes", async () => {
  const timing = { periodSeconds: 1, initialDelaySeconds: 0, failureThreshold: 1 };
  const plain = aSpec("web", 1, IMAGE, {
    program: { stopsAfterMs: 0, exitsAfterMs: 40_000, exitCode: 0 },
    probes: [
      {
        type: "liveness",
        grace: undefined,
        failureThreshold: 1,
        written: { httpGet: { port: 20001 }, ...timing },
      },
    ],
  });
  const once: SimSpec = { ...plain, restartPolicy: "OnFailure" };
  const spec = { ...once, uid: uidOfWritten(once) };
  using world = new SimWorld(CALM_SEED, { specs: new Map([[spec.uid, spec]]) });
  await perform(world, [
    [{ type: "Start" }, 20_000],
    [{ type: "Write", name: "web", version: 1, how: "rename" }, 30_000],
    [{ type: "Daemon", up: false }, 40_000],
    [{ type: "Daemon", up: true }, 60_000],
  ]);
  const starts = world.judge.history.filter((line) => line.includes(" starts web-1/a"));
  expect(starts).toHaveLength(1);
  expect(reported(world)?.pods).toMatchObject([{ name: "web", phase: "Succeeded" }]);
});
