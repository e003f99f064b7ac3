import { afterEach, beforeEach, expect, test } from "bun:test";
import { containing, FleetStage, matching, POD } from "./fleet-stage.ts";

let stage: FleetStage;
let app: string;

beforeEach(() => {
  stage = new FleetStage();
  app = stage.file("app.yaml", POD);
});

afterEach(() => stage[Symbol.dispose]());

test("who published at the same moment is named", async () => {
  const rival = { kind: "DesiredState", generation: 1, issuedAt: "2026-11-21T08:00:01Z" };
  stage.broker.faults.latency = 50;
  const { code, stderr } = await stage.fleet(`apply -f ${app} --node pi-1`, {
    // After ours was acknowledged, before it was read back.
    2800: () => stage.broker.publish("agent/v1/node/pi-1/desired", rival),
  });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: matching(
      /another operator published generation 1 at the same time: sha256:[0-9a-f]{64}, unsigned, issued 2026-11-21T08:00:01Z/,
    ),
  });
});

test("a rival that was overwritten is named too: nodes may have taken it", async () => {
  const topic = "agent/v1/node/pi-1/desired";
  stage.broker.faults.latency = 50;
  const { code, stderr } = await stage.fleet(`apply -f ${app} --node pi-1`, {
    2800: () => {
      const ours = stage.broker.retained(topic) ?? "";
      stage.broker.publish(topic, { kind: "DesiredState", generation: 1, issuedAt: "x\ny" });
      stage.broker.publish(topic, ours);
    },
  });
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: containing("another operator published generation 1 at the same time: sha256:"),
  });
  expect(stderr).toContain("issued x\\u000ay;");
});

test("nothing is published over what came while the nodes were asked", async () => {
  const { code, stdout, stderr } = await stage.fleet(`apply -f ${app} --group kiosks`, {
    2700: () =>
      stage.broker.publish("agent/v1/group/kiosks/desired", {
        kind: "DesiredState",
        generation: 1,
      }),
  });
  expect({ code, stdout, stderr }).toMatchObject({
    code: 1,
    stdout: "",
    stderr: containing("another operator has just published generation 1: sha256:"),
  });
  expect(stage.broker.publications).toHaveLength(1);
});

test("what the broker holds instead is told", async () => {
  stage.broker.publish("agent/v1/node/pi-1/desired", { kind: "DesiredState", generation: 4 });
  stage.broker.faults.latency = 50;
  const { code, stderr } = await stage.fleet(`apply -f ${app} --node pi-1`, {
    2800: () => stage.broker.publish("agent/v1/node/pi-1/desired", { generation: 2 }),
  });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr:
      "Error: the broker holds generation 2 on agent/v1/node/pi-1/desired instead of what was published\n",
  });
});
