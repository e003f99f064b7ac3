// What runs again after which exit: the pod's policy, a container's own, and its rules for exit codes.

import { afterAll, beforeAll, expect } from "bun:test";

import type { AgentProcess } from "../harness/agent-process.ts";
import { always } from "../harness/eventually.ts";
import { LifeStage } from "./support-c-life.ts";
import {
  containerOf,
  eventsOf,
  inPhase,
  podOf,
  READY,
  rowOf,
  untilPod,
} from "./support-c-views.ts";

const life = await LifeStage.open();
const { stage } = life;
const e2e = stage.test;
let agent: AgentProcess;

const ENDING = [
  {
    story: "a rule restarts a Never container after one exit code, its neighbour not",
    fixture: "restart-rule-in",
    pod: "rule-in",
    phase: "Succeeded",
    word: "Completed",
    journal: ["other run 1", "worker run 1", "worker run 2"],
    restarts: { worker: 1, other: 0 },
  },
  {
    story: "a rule restarts after every exit code but one",
    fixture: "restart-rule-not-in",
    pod: "rule-not-in",
    phase: "Failed",
    word: "Error",
    journal: ["worker run 1", "worker run 2"],
    restarts: { worker: 1 },
  },
  {
    story: "a container with OnFailure of its own is tried again in a Never pod",
    fixture: "restart-own-onfailure",
    pod: "own-onfailure",
    phase: "Succeeded",
    word: "Completed",
    journal: ["tries run 1", "tries run 2"],
    restarts: { tries: 1 },
  },
  {
    story: "an init container with Never of its own fails an Always pod",
    fixture: "restart-init-own-never",
    pod: "init-own-never",
    phase: "Failed",
    word: "Init:Error",
    journal: ["setup run 1"],
    restarts: { setup: 0 },
  },
  {
    story:
      "under OnFailure init and app containers are tried until they have succeeded, and no more",
    fixture: "restart-onfailure",
    pod: "on-failure",
    phase: "Succeeded",
    word: "Completed",
    journal: ["flaky run 1", "flaky run 2", "good run 1", "setup run 1", "setup run 2"],
    restarts: { setup: 1, flaky: 1, good: 0 },
  },
] as const;

beforeAll(async () => {
  if (!stage.available) return;
  agent = life.agent();
  for (const { fixture } of ENDING) life.put(agent, fixture);
  for (const name of ["restart-own-never", "restart-both-end"]) life.put(agent, name);
  await agent.startReady();
}, 180_000);

afterAll(() => stage.close(), 180_000);

e2e.concurrent.each(ENDING.map((each) => [each.story, each] as const))(
  "%s",
  async (_story, { pod, phase, word, journal, restarts }) => {
    const ended = await untilPod(agent, pod, inPhase(phase));
    for (const [name, count] of Object.entries(restarts))
      expect([name, containerOf(ended, name).restartCount]).toEqual([name, count]);
    expect(life.said(pod).toSorted()).toEqual([...journal]);
    expect((await rowOf(agent, pod)).status).toBe(word);
  },
);

e2e.concurrent("a container with Never of its own ends beside one that goes on", async () => {
  const pod = await untilPod(agent, "own-never", {
    is: "runs one container and has ended the other",
    when: (seen) =>
      containerOf(seen, "once").state.terminated !== undefined && containerOf(seen, "app").ready,
  });
  expect(pod.status.phase).toBe("Running");
  expect(containerOf(pod, "once")).toMatchObject({
    restartCount: 0,
    state: { terminated: { exitCode: 0, reason: "Completed" } },
  });
  expect(READY.when(pod)).toBe(false);
});

e2e.concurrent(
  "a Never pod has failed when all have ended and one of them badly, not before",
  async () => {
    await life.heard("both-end", "late start");
    const half = await untilPod(agent, "both-end", {
      is: "has ended one of two containers",
      when: (seen) => containerOf(seen, "bad").state.terminated?.exitCode === 3,
    });
    expect(half.status.phase).toBe("Running");
    life.openGate("late");
    const failed = await untilPod(agent, "both-end", inPhase("Failed"));
    expect(containerOf(failed, "late").state.terminated?.exitCode).toBe(0);
  },
);

e2e("pods that are there before the agent find the pause image that it brings", async () => {
  const said = await Promise.all(ENDING.map(({ pod }) => eventsOf(agent, pod)));
  const reasons = said.flat().map(({ reason }) => reason);
  expect(reasons).toContain("Started");
  expect(reasons).not.toContain("FailedCreatePodSandBox");
});

e2e("nothing that has ended runs again, over a restart of the agent neither", async () => {
  const journals = (): readonly number[] => ENDING.map(({ pod }) => life.lines(pod).length);
  const before = journals();
  await agent.restart("SIGKILL");
  for (const { pod, phase } of ENDING) expect((await podOf(agent, pod)).status.phase).toBe(phase);
  await always("no journal grows", 1_500, () => Bun.deepEquals(journals(), before));
  expect(life.said("own-never").toSorted()).toEqual(["app start", "once run 1"]);
});
