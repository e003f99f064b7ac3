// Sidecars: started in order, beside the app for its whole life, stopped last and in reverse.

import { expect } from "bun:test";

import { always } from "../harness/eventually.ts";
import { openLife } from "./support-c-life.ts";
import {
  conditionOf,
  containerOf,
  idOf,
  inPhase,
  podOf,
  READY,
  rowOf,
  untilGone,
  untilPod,
} from "./support-c-views.ts";

const { life, e2e, agent } = await openLife();

e2e.concurrent(
  "sidecars start in order, restart alone, and stop after the app in reverse",
  async () => {
    life.put(agent, "sidecars-in-order");
    await life.journalIs("in-order", ["setup", "proxy start"]);
    const starting = await untilPod(agent, "in-order", {
      is: "waits for the startup of its first sidecar",
      when: (pod) => containerOf(pod, "proxy").state.running !== undefined,
    });
    expect(containerOf(starting, "proxy").started).toBe(false);
    expect(conditionOf(starting, "Initialized")?.status).toBe("False");
    expect((await rowOf(agent, "in-order")).status).toBe("Init:1/3");
    await always("the next one waits", 1_500, () => life.lines("in-order").length === 2);

    life.openGate("proxy-up");
    const begun = ["setup", "proxy start", "logger start", "app start"];
    await life.journalIs("in-order", begun);
    const unready = await untilPod(agent, "in-order", {
      is: "runs, but its logger is not ready",
      when: (pod) =>
        pod.status.phase === "Running" &&
        containerOf(pod, "app").ready &&
        !containerOf(pod, "logger").ready,
    });
    expect(conditionOf(unready, "Ready")).toMatchObject({
      status: "False",
      reason: "ContainersNotReady",
      message: "containers with unready status: [logger]",
    });
    expect((await rowOf(agent, "in-order")).ready).toBe("2/3");

    life.openGate("logger-ready");
    const ready = await untilPod(agent, "in-order", READY);
    expect(await rowOf(agent, "in-order")).toEqual({
      ready: "3/3",
      status: "Running",
      restarts: 0,
    });

    await life.killTask(idOf(containerOf(ready, "logger")));
    await life.journalIs("in-order", [...begun, "logger start"]);
    const restarted = await untilPod(agent, "in-order", {
      is: "has its logger back",
      when: (pod) => READY.when(pod) && containerOf(pod, "logger").restartCount === 1,
    });
    for (const name of ["proxy", "app"])
      expect(containerOf(restarted, name).containerID).toBe(containerOf(ready, name).containerID);

    agent.removeManifest("sidecars-in-order.yaml");
    await untilGone(agent, "in-order");
    const stopped = ["app stop", "logger stop", "proxy stop"];
    expect(life.said("in-order")).toEqual([...begun, "logger start", ...stopped]);
  },
);

e2e.concurrent(
  "a job is done when its own container is; its sidecars go then, the last first",
  async () => {
    life.put(agent, "sidecars-of-a-job");
    await life.heard("job", "work start");
    const working = await untilPod(agent, "job", READY);
    expect(working.status.phase).toBe("Running");
    expect((await rowOf(agent, "job")).ready).toBe("3/3");

    life.openGate("work");
    const done = await untilPod(agent, "job", inPhase("Succeeded"));
    await life.heard("job", "network stop");
    // All hooks run at once, as soon as the job is done; whose turn it is to stop comes after them.
    const of = (word: string): readonly string[] =>
      life.said("job").filter((said) => said.endsWith(word));
    expect(life.said("job").slice(0, 4)).toEqual([
      "network start",
      "shipper start",
      "work start",
      "work done",
    ]);
    expect(of("hook").toSorted()).toEqual(["network hook", "shipper hook"]);
    expect(of("stop")).toEqual(["shipper stop", "network stop"]);
    const said = life.said("job");
    for (const name of ["network", "shipper"])
      expect(said.indexOf(`${name} stop`)).toBeGreaterThan(said.indexOf(`${name} hook`));
    expect(said.length).toBe(8);
    expect(containerOf(done, "work")).toMatchObject({
      restartCount: 0,
      state: { terminated: { exitCode: 0, reason: "Completed" } },
    });
    const ended = await untilPod(agent, "job", {
      is: "has no sidecar that runs",
      when: (pod) =>
        ["network", "shipper"].every(
          (name) => containerOf(pod, name).state.terminated !== undefined,
        ),
    });
    for (const name of ["network", "shipper"])
      expect(containerOf(ended, name).restartCount).toBe(0);
  },
);

e2e("the job stays done over a restart of the agent", async () => {
  const journal = life.said("job");
  await agent.restart("SIGKILL");
  await always(
    "nothing of it starts again",
    1_500,
    () => life.lines("job").length === journal.length,
  );
  expect(journal.at(-1)).toBe("network stop");
  expect((await podOf(agent, "job")).status.phase).toBe("Succeeded");
  expect((await rowOf(agent, "job")).status).toBe("Completed");
});
