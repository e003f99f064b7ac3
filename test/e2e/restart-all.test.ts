// RestartAllContainers: one exit restarts every container of the pod in its sandbox, once, also over deaths of the agent.

import { expect } from "bun:test";

import type { PodView } from "../../src/node/api-views.ts";
import { always } from "../harness/eventually.ts";
import { openLife } from "./support-c-life.ts";
import { conditionOf, containerOf, eventsOf, idOf, podOf, untilPod } from "./support-c-views.ts";

const { life, e2e, agent } = await openLife();

const NAMES = ["prepare", "watcher", "app", "once"] as const;
const RUN_1 = ["app start", "once run 1", "prepare run 1", "watcher start"];
const RUN_2 = ["app start", "once run 2", "prepare run 2", "watcher start"];
const RUN_3 = ["app start", "once run 3", "prepare run 3", "watcher start"];

function restarts(pod: PodView): readonly number[] {
  return NAMES.map((name) => containerOf(pod, name).restartCount);
}

/** All of them have run so many times, and those that stay are up. */
async function untilRun(count: number): Promise<PodView> {
  return untilPod(agent, "together", {
    is: `has restarted all its containers ${count} times`,
    when: (pod) =>
      restarts(pod).every((one) => one === count) &&
      containerOf(pod, "app").ready &&
      containerOf(pod, "once").state.terminated !== undefined,
  });
}

e2e(
  "an exit with its code restarts all containers in their sandbox, and nothing else",
  async () => {
    life.put(agent, "restart-all");
    const first = await untilRun(0);
    expect(conditionOf(first, "AllContainersRestarting")?.status).toBe("False");
    life.openGate("together-exits");
    const second = await untilRun(1);
    expect(second.status.podIP).toBe(first.status.podIP ?? "none");
    // No preStop hook, no SIGTERM, no grace period of a minute; the emptyDir still counts the runs.
    expect(life.said("together").toSorted()).toEqual([...RUN_1, ...RUN_2].toSorted());
    expect((await life.end(idOf(containerOf(first, "app")))).exitCode).toBe(137);
    expect(containerOf(second, "watcher").lastState.terminated?.exitCode).toBe(42);
    expect(conditionOf(second, "AllContainersRestarting")?.status).toBe("False");
    const messages = (await eventsOf(agent, "together")).map(({ message }) => message);
    expect(messages).toContain(
      "Container app is restarted with all containers of the pod, because one exited with a code whose rule is RestartAllContainers",
    );
  },
);

e2e("also when the agent was not there to see it, and not again after its next death", async () => {
  const before = await podOf(agent, "together");
  await agent.kill("SIGKILL");
  life.openGate("together-exits");
  await life.end(idOf(containerOf(before, "watcher")));
  await agent.startReady();
  const third = await untilRun(2);
  expect(third.status.podIP).toBe(before.status.podIP ?? "none");
  const all = [...RUN_1, ...RUN_2, ...RUN_3].toSorted();
  expect(life.said("together").toSorted()).toEqual(all);
  await agent.restart("SIGKILL");
  await always(
    "no container starts again",
    1_500,
    () => life.lines("together").length === all.length,
  );
  expect(restarts(await podOf(agent, "together"))).toEqual([2, 2, 2, 2]);
});
