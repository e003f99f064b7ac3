// A critical pod has its room although others run in it, and those come back.

import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import { availableParallelism } from "node:os";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { getPod, getRejected } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
const e2e = stage.test;
/** What is left beside a pod that asks for all processors but one. */
const MOST = String(availableParallelism() - 0.5);
let agent: AgentProcess;

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent({ config: { priorityClasses: { high: 1000 } } });
  await agent.startReady();
}, 180_000);

afterEach(async () => {
  if (stage.available) await stage.clear(agent);
}, 180_000);

afterAll(() => stage.close(), 180_000);

function write(name: string, cpu: string, spec: object = {}): void {
  const container = {
    name: "a",
    image: "local/busybox:1",
    command: ["sleep", "1000"],
    resources: { requests: { cpu } },
  };
  agent.writeManifest(`${name}.yaml`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 0, containers: [container], ...spec },
  });
}

/** The id of its container, once the agent itself shows the pod as running: only then it has its place. */
async function settled(name: string): Promise<string> {
  const id = await stage.running(name);
  await eventually(
    `${name} is shown as running`,
    async () => (await getPod(agent, name)).status.phase === "Running",
  );
  return id;
}

const CRITICAL = { priorityClassName: "system-node-critical" };

async function refusal(name: string): Promise<string> {
  return eventually(`${name} is refused`, async () => {
    const found = (await getRejected(agent)).find((one) => one.name === name);
    return found === undefined ? undefined : `${found.code}: ${found.message}`;
  });
}

e2e("a critical pod pushes out an ordinary one, and no more than needed", async () => {
  write("large", MOST);
  write("small", "100m");
  const [, small] = await Promise.all([settled("large"), settled("small")]);
  write("vital", MOST, CRITICAL);
  await stage.running("vital");
  expect(await stage.running("small")).toBe(small);
  expect(await refusal("large")).toMatch(/^OutOfcpu: .*; critical pods come first: default\/vital/);
  const { stdout } = await agent.cli("get", "events");
  expect(stdout).toContain("Preempted in order to admit pod default/vital");
  agent.removeManifest("vital.yaml");
  await stage.running("large");
  expect(await getRejected(agent)).toEqual([]);
});

e2e("a pod of a high priority that is not critical waits", async () => {
  write("first", MOST);
  const first = await settled("first");
  write("second", MOST, { priorityClassName: "high" });
  expect(await refusal("second")).toStartWith("OutOfcpu");
  expect(await stage.running("first")).toBe(first);
});

e2e("a critical pod whose image is missing pushes out nothing", async () => {
  write("runs", MOST);
  const runs = await settled("runs");
  const container = { name: "a", image: "local/none:1", imagePullPolicy: "Never" };
  const resources = { requests: { cpu: MOST } };
  write("vital", MOST, { ...CRITICAL, containers: [{ ...container, resources }] });
  let shown = "";
  await eventually(
    "the image is missing",
    async () => {
      const { stdout, stderr } = await agent.cli("get", "pods");
      shown = stdout + stderr;
      return /vital .*ErrImageNeverPull/.test(stdout);
    },
    { timeout: 20_000, explain: () => `${shown}\n${agent.logTail()}` },
  );
  expect(await stage.running("runs")).toBe(runs);
});
