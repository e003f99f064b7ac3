// `agent shutdown` on real parts: groups in order, a period that is shorter than a pod wants, a kill -9 in the middle, and
// pods that run again after --cancel.

import { afterAll, beforeAll, expect } from "bun:test";

import type { AgentProcess } from "../harness/agent-process.ts";
import { podManifest, type PodRecipe } from "./support-a-pods.ts";
import { Stage } from "./support-a-stage.ts";
import { findPod, READY, untilPod } from "./support-c-views.ts";

const stage = await Stage.open();
const LIMIT = 120_000;
let agent: AgentProcess;

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent({
    config: { shutdownGracePeriod: "6s", shutdownGracePeriodCriticalPods: "2s" },
  });
  await agent.startReady();
}, LIMIT);

afterAll(() => stage.close());

function put(recipe: PodRecipe, spec: object = {}): void {
  const pod = podManifest(stage.journals, recipe) as { spec: object };
  pod.spec = { ...pod.spec, ...spec };
  agent.writeManifest(`${recipe.name}.yaml`, pod);
}

async function reasonOf(name: string): Promise<string | undefined> {
  return (await findPod(agent, name))?.status.reason;
}

stage.test(
  "agent shutdown stops all pods, over kill -9, and --cancel lets them run again",
  async () => {
    put({ name: "stubborn", onTerm: "ignore", graceSeconds: 120 });
    put({ name: "critical", graceSeconds: 120 }, { priorityClassName: "system-node-critical" });
    await Promise.all(["stubborn", "critical"].map((name) => untilPod(agent, name, READY)));

    const tooShort = await agent.cli("shutdown", "--timeout", "1s");
    expect(tooShort.code).toBe(1);
    expect(tooShort.stderr).toContain(
      "after 1s these pods still stop: default/critical, default/stubborn",
    );
    expect(await reasonOf("stubborn")).toBe("Terminated");
    expect(await reasonOf("critical")).toBeUndefined();

    await agent.kill("SIGKILL");
    await agent.startReady();
    const done = await agent.cli("shutdown");
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect(done.stdout).toContain("all pods are stopped");
    expect(await stage.containersOf("stubborn")).toEqual([]);
    expect(await stage.containersOf("critical")).toEqual([]);
    expect(await reasonOf("critical")).toBe("Terminated");
    const node = await agent.cli("get", "node", "-o", "yaml");
    expect(node.stdout).toContain("node is shutting down");

    put({ name: "later" });
    await untilPod(agent, "later", {
      is: "is refused",
      when: ({ status }) => status.reason === "NodeShutdown",
    });

    const cancelled = await agent.cli("shutdown", "--cancel");
    expect([cancelled.code, cancelled.stdout]).toEqual([
      0,
      "the shutdown is cancelled: pods start again\n",
    ]);
    for (const name of ["stubborn", "critical", "later"]) await untilPod(agent, name, READY);
  },
  LIMIT,
);

stage.test(
  "wrong usage is exit code 2, and SIGTERM to the agent stops no pod",
  async () => {
    const wrong = await agent.cli("shutdown", "--cancel", "--timeout", "5s");
    expect(wrong.code).toBe(2);
    put({ name: "stays" });
    await untilPod(agent, "stays", READY);
    const before = await stage.containersOf("stays");
    await agent.kill("SIGTERM");
    await agent.startReady();
    expect(await stage.containersOf("stays")).toEqual(before);
  },
  LIMIT,
);
