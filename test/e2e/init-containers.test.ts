// Init containers: one after the other, each to its success, again when the sandbox has died.

import { expect } from "bun:test";

import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { openLife } from "./support-c-life.ts";
import {
  conditionOf,
  containerOf,
  idOf,
  inPhase,
  podOf,
  READY,
  rowOf,
  untilEvent,
  untilPod,
} from "./support-c-views.ts";

const { life, stage, e2e, agent } = await openLife();

e2e.concurrent("two init containers run one after the other, then the app", async () => {
  life.put(agent, "init-two-gates");
  await life.heard("two-gates", "first start");
  const waiting = await untilPod(agent, "two-gates", {
    is: "waits for its first init container",
    when: (pod) => containerOf(pod, "first").state.running !== undefined,
  });
  expect(waiting.status.phase).toBe("Pending");
  expect(conditionOf(waiting, "Initialized")).toMatchObject({
    status: "False",
    reason: "ContainersNotInitialized",
    message: "containers with incomplete status: [first second]",
  });
  for (const name of ["second", "app"])
    expect(containerOf(waiting, name).state.waiting?.reason).toBe("PodInitializing");
  expect(await rowOf(agent, "two-gates")).toEqual({
    ready: "0/1",
    status: "Init:0/2",
    restarts: 0,
  });

  life.openGate("first");
  await life.heard("two-gates", "second start");
  await eventually("half of it is done", async () => {
    const { ready, status } = await rowOf(agent, "two-gates");
    return ready === "0/1" && status === "Init:1/2";
  });
  expect(life.said("two-gates")).toEqual(["first start", "first end", "second start"]);

  life.openGate("second");
  const running = await untilPod(agent, "two-gates", READY);
  const order = ["first start", "first end", "second start", "second end", "app start"];
  await life.journalIs("two-gates", order);
  expect(conditionOf(running, "Initialized")?.status).toBe("True");
  for (const name of ["first", "second"])
    expect(containerOf(running, name)).toMatchObject({
      state: { terminated: { exitCode: 0, reason: "Completed" } },
      ready: true,
      restartCount: 0,
    });
  expect(await rowOf(agent, "two-gates")).toEqual({ ready: "1/1", status: "Running", restarts: 0 });
});

e2e.concurrent("an init container waits until another pod serves", async () => {
  life.put(agent, "init-waits-for-a-server", { PORT: freePort() });
  await life.heard("page-reader", "waiting");
  expect((await podOf(agent, "page-reader")).status.phase).toBe("Pending");
  life.openGate("page-server");
  await untilPod(agent, "page-reader", READY);
  await life.journalIs("page-reader", ["waiting", "the page says hello", "app start"]);
  const served = await life.heard("page-server", "serving");
  expect((await life.heard("page-reader", "app start")).at).toBeGreaterThanOrEqual(served.at);
});

e2e.concurrent(
  "under Always a failing init container is tried again, with a back-off",
  async () => {
    life.put(agent, "init-fails-twice");
    await untilEvent(agent, "fails-twice", {
      reason: "BackOff",
      type: "Warning",
      container: "migrate",
      message: /Back-off restarting failed container/,
    });
    const pod = await untilPod(agent, "fails-twice", READY);
    expect(containerOf(pod, "migrate")).toMatchObject({
      restartCount: 2,
      state: { terminated: { exitCode: 0 } },
      lastState: { terminated: { exitCode: 3, reason: "Error", message: "no table\n" } },
    });
    expect(containerOf(pod, "done-before").restartCount).toBe(0);
    const runs = ["migrate run 1", "migrate run 2", "migrate run 3"];
    await life.journalIs("fails-twice", ["done-before run 1", ...runs, "app start"]);
  },
);

e2e.concurrent("under Never a failing init container is the end of the pod", async () => {
  life.put(agent, "init-never");
  const pod = await untilPod(agent, "never-begun", inPhase("Failed"));
  expect(containerOf(pod, "setup").state.terminated?.exitCode).toBe(7);
  for (const name of ["later", "app"]) {
    expect(containerOf(pod, name).containerID).toBe("");
    expect(containerOf(pod, name).state.waiting?.reason).toBe("PodInitializing");
  }
  expect((await rowOf(agent, "never-begun")).status).toBe("Init:Error");
  expect(life.said("never-begun")).toEqual(["setup run 1"]);
});

e2e.concurrent(
  "init containers run again with a new sandbox, not with a new app container",
  async () => {
    life.put(agent, "init-again");
    const first = containerOf(await untilPod(agent, "begins-again", READY), "app");
    await life.journalIs("begins-again", ["setup", "app start"]);
    await life.killTask(idOf(first));
    await life.journalIs("begins-again", ["setup", "app start", "app start"]);
    const second = await untilPod(agent, "begins-again", {
      is: "is ready again",
      when: (pod) => READY.when(pod) && containerOf(pod, "app").restartCount === 1,
    });
    expect(containerOf(second, "setup").restartCount).toBe(0);

    const [sandbox = ""] = await stage.containersOf("begins-again", "sandbox");
    await life.killTask(sandbox);
    await life.journalIs("begins-again", [
      "setup",
      "app start",
      "app start",
      "app stop",
      "setup",
      "app start",
    ]);
    const third = await untilPod(agent, "begins-again", {
      is: "is ready in a new sandbox",
      when: (pod) =>
        READY.when(pod) &&
        containerOf(pod, "app").containerID !== containerOf(second, "app").containerID,
    });
    expect(containerOf(third, "setup").state.terminated?.exitCode).toBe(0);
    expect(third.status.phase).toBe("Running");
  },
);
