// Containers that run out of memory, and ones that only lose a process: as the status and the events have it.

import { afterAll, beforeAll, expect } from "bun:test";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { getContainer } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
const e2e = stage.test;
let agent: AgentProcess;
/** Kills for want of memory that one run of this file causes and expects to be reported, every one of them. */
const HOGS = 8;

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent();
  await agent.startReady();
}, 180_000);

afterAll(async () => {
  if (stage.available) await stage.clear(agent);
  stage.close();
}, 180_000);

function write(name: string, script: string): void {
  const container = {
    name: "a",
    image: "local/busybox:1",
    command: ["sh", "-c", script],
    resources: { limits: { memory: "16Mi" } },
  };
  agent.writeManifest(`${name}.yaml`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 0, restartPolicy: "Never", containers: [container] },
  });
}

interface EventView {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly name: string };
}

async function kills(name: string): Promise<readonly EventView[]> {
  const { stdout } = await agent.cli("get", "events", "-o", "json");
  const { items } = JSON.parse(stdout) as { readonly items: readonly EventView[] };
  return items.filter(
    (event) => event.reason === "OOMKilling" && event.involvedObject.name === name,
  );
}

e2e(
  "every container that runs out of memory is OOMKilled, with an event",
  async () => {
    const names = Array.from({ length: HOGS }, (_, index) => `hog-${index}`);
    for (const name of names) write(name, "exec tail /dev/zero");
    for (const name of names) {
      const state = await eventually(
        `${name} has ended`,
        async () => (await getContainer(agent, name)).state?.terminated,
        { timeout: 60_000, explain: () => agent.logTail() },
      );
      expect(state).toMatchObject({ exitCode: 137, reason: "OOMKilled" });
      const events = await eventually(`${name} has its event`, async () => {
        const found = await kills(name);
        return found.length === 0 ? undefined : found;
      });
      expect(events).toMatchObject([
        {
          type: "Warning",
          message:
            "the kernel has killed a process of container a, which ran out of memory (limit 16Mi)",
        },
      ]);
    }
  },
  120_000,
);

e2e("a container that loses a process beside its first one goes on, with an event", async () => {
  write("parent", "tail /dev/zero; exec sleep 1000");
  await eventually("the kill is an event", async () => (await kills("parent")).length > 0, {
    timeout: 60_000,
    explain: () => agent.logTail(),
  });
  expect((await getContainer(agent, "parent")).state).toHaveProperty("running");
});

e2e("a container that is killed otherwise is not OOMKilled", async () => {
  write("killed", "exit 137");
  const state = await eventually(
    "it has ended",
    async () => (await getContainer(agent, "killed")).state?.terminated,
    { timeout: 60_000, explain: () => agent.logTail() },
  );
  expect(state).toMatchObject({ exitCode: 137, reason: "Error" });
  expect(await kills("killed")).toEqual([]);
});
