// A pod in whose hand the agent ends at every start: killed from outside as soon as `stateDir/in-hand` names it.

import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { readInHand } from "../../src/store/start-guard/hand.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { always, eventually } from "../harness/eventually.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage, runningApps, type RunningContainer } from "./support-b-stage.ts";
import { desired, publishDesired } from "./support-b-upstream.ts";
import { Line } from "./support-g-line.ts";

const { e2e, temp, containerd, watch, agent: makeAgent } = await openStage();

const NODE = "guarded";

function inHand(agent: AgentProcess): readonly string[] {
  const text = readFileSync(join(agent.paths.state, "in-hand"), "utf8");
  return readInHand(text).hands.map(({ kind, name }) => `${kind} ${name}`);
}

/**
 * Kills the agent while it works on this and on no other pod: each pod in hand at two deaths is a suspect.
 * `after`: the process before, whose file is there until the next one has read it; returns the one that was killed.
 */
async function killInHand(agent: AgentProcess, work: string, after = ""): Promise<string> {
  const look = (): string | false => {
    const text = readFileSync(join(agent.paths.state, "in-hand"), "utf8");
    const { process, hands } = readInHand(text);
    const pods = hands.filter(({ kind }) => kind === "Pod").map(({ name }) => `Pod ${name}`);
    return process !== after && pods.length === 1 && pods[0] === work && process;
  };
  const timing = { interval: 0, timeout: 60_000, explain: () => agent.logTail() };
  const killed = await eventually(`${work} is in hand`, look, timing);
  await agent.kill("SIGKILL");
  return killed;
}

async function conditionOf(agent: AgentProcess): Promise<string | undefined> {
  const node: unknown = await (await agent.api("/node")).json();
  const { status } = node as { status: { conditions: { type: string; message: string }[] } };
  return status.conditions.find(({ type }) => type === "StartGuard")?.message;
}

e2e(
  "a pod in whose hand the agent ended twice waits, MQTT is asked first, and a newer document cures",
  async () => {
    const broker = await startBroker(temp, { name: "guard-broker" });
    const line = new Line(broker.port);
    await line.mend();
    const agent = makeAgent(NODE, { mqttUrl: line.url });
    const publish = (generation: number, ...names: readonly string[]): Promise<void> =>
      publishDesired(
        broker,
        NODE,
        desired(NODE, { generation, resources: names.map((name) => plainPod(name)) }),
      );
    const running = (): Promise<readonly RunningContainer[]> => runningApps(containerd(), NODE);
    const explain = { explain: () => agent.logTail(60), timeout: 60_000 };
    await publish(1, "steady");
    await agent.startReady();
    const before = await eventually(
      "the first pod runs, and nothing is in hand",
      async () => {
        const apps = await running();
        return apps.length === 1 && inHand(agent).length === 0 && apps;
      },
      explain,
    );
    using events = await watch();

    await publish(2, "steady", "killer");
    const first = await killInHand(agent, "Pod default/killer");
    agent.start();
    await killInHand(agent, "Pod default/killer", first);

    line.cut();
    await agent.startReady();
    const message = await eventually("the node reports what waits", () => conditionOf(agent));
    expect(message).toContain("the agent ended 2 times while it worked on pod default/killer");
    const shown = await agent.cli("get", "pods");
    expect(shown.stdout).toMatch(/killer .*StartGuard/);
    expect((await agent.cli("get", "events")).stdout).toContain("StartGuard");
    await always("it is not in hand", 2_000, () => !inHand(agent).includes("Pod default/killer"));
    expect(await running()).toEqual(before);

    await publish(3, "steady");
    await line.mend();
    await eventually(
      "the newer document is adopted, and the pod is gone",
      async () => {
        const pods = await agent.cli("get", "pods");
        return pods.stdout.includes("steady") && !pods.stdout.includes("killer");
      },
      explain,
    );
    await eventually("nothing waits", async () => (await conditionOf(agent)) === undefined);
    expect(await running()).toEqual(before);
    const started = events.events.filter(({ topic }) => topic === "/tasks/start");
    expect(started.filter(({ containerId }) => before[0]?.id === containerId)).toEqual([]);

    // What was counted for one version of the pod holds up no other.
    await publish(4, "steady", "other");
    await eventually("another pod starts", async () => (await running()).length === 2, explain);
    await agent.kill();
    expect(inHand(agent)).toEqual([]);
    await broker.stop();
  },
  180_000,
);

e2e(
  "without anything newer it is tried again after a minute, and runs when that does no harm",
  async () => {
    const agent = makeAgent("patient");
    agent.writeManifest("web.yaml", plainPod("web"));
    agent.start();
    const first = await killInHand(agent, "Pod default/web");
    agent.start();
    await killInHand(agent, "Pod default/web", first);
    await agent.startReady();
    const begun = performance.now();
    await eventually("it waits", () => conditionOf(agent));
    await eventually(
      "the pod runs",
      async () => (await runningApps(containerd(), "patient")).length === 1,
      { timeout: 120_000, explain: () => agent.logTail(60) },
    );
    console.log(`tried again after about ${Math.round((performance.now() - begun) / 1000)} s`);
    await eventually("nothing waits", async () => (await conditionOf(agent)) === undefined);
    await agent.kill();
  },
  240_000,
);
