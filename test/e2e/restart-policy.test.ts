// What happens after a container has ended: restart policies, the crash-loop back-off, and what the status says of it.

import { afterAll, beforeAll, expect } from "bun:test";

import type { ContainerStatus } from "../../src/api/v1/pod-status.ts";
import type { AgentProcess } from "../harness/agent-process.ts";
import { always, eventually } from "../harness/eventually.ts";
import { getContainer, getPod, getPods } from "./support-a-agent.ts";
import type { PodRecipe } from "./support-a-pods.ts";
import { Stage } from "./support-a-stage.ts";

const stage = await Stage.open();
const e2e = stage.test;
let agent: AgentProcess;
/** Another agent on the same containerd whose back-off ends at two seconds. */
let hasty: AgentProcess;

function ending(
  name: string,
  restartPolicy: NonNullable<PodRecipe["restartPolicy"]>,
  exitCode: number,
): PodRecipe {
  return { name, restartPolicy, script: [`exit ${exitCode}`] };
}

/** One that also writes when it started, in seconds since boot. */
function crashing(
  name: string,
  restartPolicy: NonNullable<PodRecipe["restartPolicy"]>,
  exitCode: number,
): PodRecipe {
  const script = ["read up rest </proc/uptime", 'say "up $up"', `exit ${exitCode}`];
  return { name, restartPolicy, script };
}

const FINISHING = [
  { recipe: ending("never-0", "Never", 0), phase: "Succeeded", exitCode: 0, reason: "Completed" },
  { recipe: ending("never-3", "Never", 3), phase: "Failed", exitCode: 3, reason: "Error" },
  {
    recipe: ending("onfailure-0", "OnFailure", 0),
    phase: "Succeeded",
    exitCode: 0,
    reason: "Completed",
  },
] as const;

const LOOPING = [
  { recipe: crashing("onfailure-3", "OnFailure", 3), exitCode: 3, reason: "Error" },
  { recipe: crashing("always-0", "Always", 0), exitCode: 0, reason: "Completed" },
  { recipe: crashing("always-3", "Always", 3), exitCode: 3, reason: "Error" },
] as const;

beforeAll(async () => {
  if (!stage.available) return;
  agent = stage.agent();
  hasty = stage.agent({
    name: "hasty",
    instance: "hasty",
    config: { crashLoopBackOff: { maxContainerRestartPeriod: "2s" } },
  });
  for (const { recipe } of [...FINISHING, ...LOOPING])
    agent.writeManifest(`${recipe.name}.yaml`, stage.manifest(recipe));
  hasty.writeManifest("capped.yaml", stage.manifest(crashing("capped", "Always", 1)));
  await Promise.all([agent.startReady(), hasty.startReady()]);
}, 180_000);

afterAll(() => stage.close(), 180_000);

e2e.each(FINISHING.map((each) => [each.recipe.name, each] as const))(
  "%s runs once and is finished",
  async (name, { phase, exitCode, reason }) => {
    const pod = await eventually(
      `the phase of ${name} is ${phase}`,
      async () => {
        const seen = await getPod(agent, name);
        return seen.status.phase === phase ? seen : undefined;
      },
      { timeout: 60_000 },
    );
    const [status] = pod.status.containerStatuses ?? [];
    expect(status).toMatchObject({
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode, reason } },
    });
    expect(stage.journal(name)).toEqual(["start a"]);
  },
);

e2e.each(LOOPING.map((each) => [each.recipe.name, each] as const))(
  "%s starts again at once, then waits in CrashLoopBackOff",
  async (name, { exitCode, reason }) => {
    const status = await eventually(
      `${name} waits`,
      async () => {
        const seen = await getContainer(agent, name);
        return seen.state.waiting?.reason === "CrashLoopBackOff" ? seen : undefined;
      },
      { timeout: 60_000 },
    );
    expect(status).toMatchObject({
      ready: false,
      restartCount: 1,
      lastState: { terminated: { exitCode, reason } },
    });
    expect(status.state.waiting?.message).toMatch(/back-off 10s/);
    expect((await getPod(agent, name)).status.phase).toBe("Running");
    expect((await agent.cli("get", "pods", name)).stdout).toMatch(/ 0\/1 +CrashLoopBackOff +1 /);
  },
);

e2e(
  "the longest back-off is what the configuration says",
  async () => {
    const [first = 0, ...others] = await pauses("capped", 5, 20_000);
    expect(first).toBeLessThan(9);
    for (const pause of others) {
      expect(pause).toBeGreaterThanOrEqual(1.9);
      expect(pause).toBeLessThan(9.5);
    }
    await eventually(
      "all of them are counted",
      async () => (await getContainer(hasty, "capped")).restartCount >= 4,
    );
  },
  180_000,
);

e2e(
  "the back-off of a crashing container is 0, then 10, then 20 s",
  async () => {
    const [first = 0, second = 0, third = 0] = await pauses("always-3", 4, 50_000);
    expect(first).toBeLessThan(9);
    expect(second).toBeGreaterThanOrEqual(9.8);
    expect(second).toBeLessThan(19);
    expect(third).toBeGreaterThanOrEqual(19.8);
    expect(third).toBeLessThan(38);
    const status = await eventually("it waits for 40 s now", async () => {
      const seen = await getContainer(agent, "always-3");
      return seen.state.waiting?.message?.includes("back-off 40s") === true ? seen : undefined;
    });
    expect(status.restartCount).toBe(3);
    for (const { recipe } of FINISHING) expect(stage.journal(recipe.name)).toEqual(["start a"]);
  },
  180_000,
);

e2e("what has finished stays finished over restarts of the agent", async () => {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    await agent.restart(signal);
    const pods = new Map((await getPods(agent)).map((pod) => [pod.metadata.name, pod]));
    for (const { recipe, phase, exitCode, reason } of FINISHING) {
      const status = pods.get(recipe.name)?.status;
      expect([recipe.name, status?.phase]).toEqual([recipe.name, phase]);
      const [container] = status?.containerStatuses ?? [];
      expect(endOf(container)).toEqual({ exitCode, reason, restartCount: 0 });
    }
  }
  await always("no finished pod starts again", 1_500, () =>
    FINISHING.every(({ recipe }) => stage.journal(recipe.name).length === 1),
  );
});

function endOf(status: ContainerStatus | undefined): object {
  const { exitCode, reason } = status?.state.terminated ?? {};
  return { exitCode, reason, restartCount: status?.restartCount };
}

/** Waits until a pod has started so many times; seconds between its starts, by the kernel's clock. */
async function pauses(pod: string, starts: number, timeout: number): Promise<readonly number[]> {
  const times = await eventually(
    `${pod} has started ${starts} times`,
    () => {
      const lines = stage.journal(pod).flatMap((line) => /^up (\S+) /.exec(line)?.[1] ?? []);
      return lines.length >= starts ? lines.map(Number) : undefined;
    },
    { timeout, interval: 100, explain: () => stage.journal(pod).join("\n") },
  );
  return times.slice(1).map((time, index) => time - (times[index] ?? 0));
}
