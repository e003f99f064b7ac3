import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { containing, FleetStage } from "./fleet-stage.ts";

let stage: FleetStage;

beforeEach(() => {
  stage = new FleetStage();
});

afterEach(() => stage[Symbol.dispose]());

describe("forget", () => {
  beforeEach(() => {
    stage.state("pi-1", "lost");
    stage.report("pi-1");
    stage.broker.publish("agent/v1/node/pi-1/reported/pod/default/web", { status: {} });
    stage.broker.publish("agent/v1/node/pi-1/desired", { generation: 1 });
    stage.state("pi-10", "lost");
  });

  test("lists what it would clear, and clears nothing", async () => {
    const { code, stdout, stderr } = await stage.fleet("forget pi-1");
    expect(stdout.split("\n")).toContain("  agent/v1/node/pi-1/reported/pod/default/web");
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "nothing was cleared; add --yes if it is meant\n",
    });
    expect(stage.broker.retainedTopics("agent/v1/node/pi-1/")).toHaveLength(4);
  });

  test("clears everything of that node only, once somebody said yes", async () => {
    stage.isInteractive = true;
    stage.input = "yes";
    expect(await stage.fleet("forget pi-1")).toMatchObject({ code: 0 });
    expect(stage.broker.retainedTopics("")).toEqual(["agent/v1/node/pi-10/state"]);
  });

  test("leaves a node alone that is online", async () => {
    stage.state("pi-1");
    const { code, stderr } = await stage.fleet("forget pi-1 --yes");
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: containing("stop its agent first"),
    });
    expect(await stage.fleet("forget pi-1 --yes --force")).toMatchObject({ code: 0 });
  });

  test("shows no name that would command the terminal, and clears no topic it does not know", async () => {
    stage.broker.publish("agent/v1/node/pi-1/reported/pod/\u001B[2J/web", "x");
    const { stdout } = await stage.fleet("forget pi-1 --yes");
    expect(stdout).toBe("node pi-1 is forgotten: 4 topics cleared\n");
    expect((await stage.fleet("forget pi-1")).stdout).not.toContain("\u001B");
  });

  test("does without a wildcard that the broker refuses", async () => {
    stage.broker.faults.subackCodes.set("agent/v1/node/pi-1/reported/pod/+/+", 0x87);
    stage.report("pi-1", { pods: [{ namespace: "default", name: "web" }] });
    expect(await stage.fleet("forget pi-1 --yes")).toMatchObject({ code: 0 });
    expect(stage.broker.retainedTopics("")).toEqual(["agent/v1/node/pi-10/state"]);
  });

  test("says when there is nothing", async () => {
    expect(await stage.fleet("forget nobody --yes")).toMatchObject({ code: 1 });
  });
});
