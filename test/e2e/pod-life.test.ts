// Whole lives of pods: deadlines, dependencies, deletion at every moment, reboots, and what the events tell of them.

import { expect } from "bun:test";

import { startBroker } from "../harness/broker.ts";
import { always, eventually } from "../harness/eventually.ts";
import { openLife, uptime } from "./support-c-life.ts";
import { startAfterReboot } from "./support-c-reboot.ts";
import { HttpServer } from "./support-c-servers.ts";
import { cutPower } from "./support-b-power-cut.ts";
import {
  conditionOf,
  containerOf,
  eventsOf,
  findPod,
  idOf,
  inPhase,
  podOf,
  READY,
  rowOf,
  untilEvent,
  untilGone,
  untilPod,
} from "./support-c-views.ts";

const { life, stage, e2e, agent } = await openLife();

/** No container and no sandbox of this pod is left in containerd. */
async function untilNothingOf(pod: string): Promise<void> {
  await untilGone(agent, pod);
  await eventually(
    `containerd has nothing of ${pod}`,
    async () => {
      const [containers, sandboxes] = [
        await stage.containersOf(pod),
        await stage.containersOf(pod, "sandbox"),
      ];
      return containers.length === 0 && sandboxes.length === 0;
    },
    { timeout: 60_000, interval: 100, explain: () => agent.logTail() },
  );
}

e2e.concurrent("a pod that has reached its deadline fails for good", async () => {
  const put = uptime();
  life.put(agent, "deadline");
  await untilPod(agent, "deadline", READY);
  const pod = await untilPod(agent, "deadline", inPhase("Failed"));
  expect(pod.status.reason).toBe("DeadlineExceeded");
  expect(pod.status.message).toMatch(/longer than (the )?specified deadline/);
  await untilEvent(agent, "deadline", { reason: "DeadlineExceeded" });
  // Its time counts from when the agent took it on, not from when the container ran.
  const stop = await life.heard("deadline", "main stop");
  expect(stop.at - put).toBeGreaterThan(19.9);
  expect(stop.at - put).toBeLessThan(45);
  expect((await rowOf(agent, "deadline")).status).toMatch(/^(DeadlineExceeded|Completed)$/);
});

e2e.concurrent("pods wait for what they depend on, and not for what was lost later", async () => {
  life.put(agent, "depends");
  await life.heard("database", "main start");
  const waiting = await untilPod(agent, "migration", {
    is: "says what it waits for",
    when: (pod) => JSON.stringify(pod.status).includes("default/database"),
  });
  expect(waiting.status.phase).toBe("Pending");
  await always("nobody else starts", 1_500, () =>
    ["migration", "shop"].every((name) => life.lines(name).length === 0),
  );

  life.openGate("database");
  await life.heard("migration", "main start");
  expect(life.said("shop")).toEqual([]);
  life.openGate("migration");
  await untilPod(agent, "migration", inPhase("Succeeded"));
  await untilPod(agent, "shop", READY);

  life.closeGate("database");
  await untilPod(agent, "database", {
    is: "is no longer ready",
    when: (pod) => conditionOf(pod, "Ready")?.status === "False",
  });
  await always("the shop goes on", 1_500, () => life.said("shop").join() === "main start");
  expect(READY.when(await podOf(agent, "shop"))).toBe(true);
});

e2e.concurrent("pods that depend on each other never start, and say why", async () => {
  life.put(agent, "depends-on-each-other");
  for (const name of ["hen", "egg"]) {
    const event = eventually(
      `${name} tells of the cycle`,
      async () => {
        const pod = await findPod(agent, name);
        const told = [
          JSON.stringify(pod?.status ?? {}),
          JSON.stringify(await eventsOf(agent, name)),
        ];
        return told.some((text) => /cycle|each other/i.test(text));
      },
      { timeout: 60_000, explain: () => agent.logTail() },
    );
    await event;
    expect(life.said(name)).toEqual([]);
  }
  agent.removeManifest("depends-on-each-other.yaml");
  for (const name of ["hen", "egg"]) await untilNothingOf(name);
});

e2e.concurrent("deleted while an init container runs, a pod leaves nothing", async () => {
  life.put(agent, "init-two-gates");
  await life.heard("two-gates", "first start");
  agent.removeManifest("init-two-gates.yaml");
  await untilNothingOf("two-gates");
  expect(life.said("two-gates")).toEqual(["first start"]);
});

e2e.concurrent("deleted while its image is being pulled, a pod leaves nothing", async () => {
  using registry = new HttpServer(() => undefined);
  life.put(agent, "pulls", { PORT: registry.port });
  await eventually("the registry is asked", () => registry.questions.length > 0, {
    timeout: 60_000,
    explain: () => agent.logTail(),
  });
  const pod = await podOf(agent, "pulls");
  expect(pod.status.phase).toBe("Pending");
  agent.removeManifest("pulls.yaml");
  await untilNothingOf("pulls");
});

e2e.concurrent("deleted while in back-off, a pod leaves nothing", async () => {
  life.put(agent, "crashes");
  await untilPod(agent, "crashes", {
    is: "waits in its back-off",
    when: (pod) => containerOf(pod, "main").state.waiting?.reason === "CrashLoopBackOff",
  });
  await untilEvent(agent, "crashes", { reason: "BackOff", type: "Warning", container: "main" });
  agent.removeManifest("crashes.yaml");
  await untilNothingOf("crashes");
  const { length } = life.lines("crashes");
  await always("it does not start again", 1_500, () => life.lines("crashes").length === length);
});

e2e.concurrent(
  "edited again while its preStop hook runs, a pod converges to the newest",
  async () => {
    life.put(agent, "slow-farewell", { EDITION: "one" });
    await untilPod(agent, "farewell", READY);
    const old = idOf(containerOf(await podOf(agent, "farewell"), "main"));
    life.put(agent, "slow-farewell", { EDITION: "two" });
    await life.heard("farewell", "hook begins");
    life.put(agent, "slow-farewell", { EDITION: "three" });
    life.openGate("farewell");
    const begun = ["one start", "hook begins", "hook ends", "one stop"];
    await life.journalIs("farewell", [...begun, "three start"]);
    await untilPod(agent, "farewell", READY);
    expect((await life.end(old)).exitCode).toBe(0);

    agent.removeManifest("slow-farewell.yaml");
    await life.heard("farewell", "hook begins", 2);
    life.openGate("farewell");
    await untilNothingOf("farewell");
    expect(life.said("farewell").slice(-3)).toEqual(["hook begins", "hook ends", "three stop"]);
  },
);

e2e.concurrent("events tell a container's life, for people and for programs", async () => {
  agent.writeManifest("told.yaml", life.fixture("crashes").replace("name: crashes", "name: told"));
  await untilEvent(agent, "told", { reason: "BackOff", type: "Warning", container: "main" });
  for (const reason of ["Pulled", "Created", "Started"])
    await untilEvent(agent, "told", { reason, type: "Normal", container: "main", count: 2 });
  const { stdout } = await agent.cli("get", "events");
  expect(stdout).toMatch(/^LAST SEEN +TYPE +REASON +OBJECT +MESSAGE/);
  expect(stdout).toMatch(/^\S+ .*Normal +Started +pod\/told +\S/m);
  expect(stdout).toMatch(
    /^\S+ .*Warning +BackOff +pod\/told +Back-off restarting failed container/m,
  );
  const json = await agent.cli("get", "events", "-o", "json");
  const { items } = JSON.parse(json.stdout) as { readonly items: readonly object[] };
  expect(items.length).toBeGreaterThanOrEqual(4);
  const told = await eventsOf(agent, "told");
  const kinds = told.map(({ reason, message }) => `${reason} ${message}`);
  expect(kinds).toEqual([...new Set(kinds)]);
  agent.removeManifest("told.yaml");
  await untilNothingOf("told");
});

e2e.concurrent("the broker learns of the events", async () => {
  const broker = await startBroker(life.stage.temp, { name: "events-broker" });
  await using client = await broker.client();
  const batches = await client.collect("agent/v1/node/teller/event");
  const teller = life.agent({
    name: "teller",
    instance: "teller",
    nodeName: "teller",
    mqttUrl: broker.url,
  });
  await teller.startReady();
  const text = life.fixture("startup-fails").replace("name: never-started", "name: unhealthy");
  teller.writeManifest("unhealthy.yaml", text);
  const batch = await batches.next(({ payload }) => payload.includes("Unhealthy"), 40_000);
  const { incarnation, events } = JSON.parse(batch.payload) as {
    readonly incarnation: string;
    readonly events: readonly { readonly reason: string; readonly object: object }[];
  };
  expect(incarnation).not.toBe("");
  expect(events.find(({ reason }) => reason === "Unhealthy")).toMatchObject({
    type: "Warning",
    object: { kind: "Pod", namespace: "default", name: "unhealthy" },
  });
  teller.removeManifest("unhealthy.yaml");
  await untilGone(teller, "unhealthy");
  await teller.kill();
});

e2e(
  "what has finished stays so over restarts of the agent, a power cut and a new boot",
  async () => {
    life.put(agent, "finished");
    const finished = async (): Promise<void> => {
      expect(await untilPod(agent, "done", inPhase("Succeeded"))).toBeDefined();
      expect(await untilPod(agent, "failed", inPhase("Failed"))).toBeDefined();
      expect(containerOf(await podOf(agent, "failed"), "main")).toMatchObject({
        restartCount: 0,
        state: { terminated: { exitCode: 3 } },
      });
      expect(life.said("done")).toEqual(["setup", "main"]);
      expect(life.said("failed")).toEqual(["main"]);
    };
    const begun = ["setup", "sidecar start", "main start"];
    await untilPod(agent, "forever", READY);
    await finished();
    expect(life.said("forever")).toEqual(begun);

    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      await agent.restart(signal);
      await untilPod(agent, "forever", READY);
      await finished();
      expect((await podOf(agent, "deadline")).status.reason).toBe("DeadlineExceeded");
    }
    expect(life.said("forever")).toEqual(begun);
    expect(life.said("deadline")).toEqual(["main start", "main stop"]);

    await agent.kill("SIGKILL");
    await cutPower(stage.containerd);
    startAfterReboot(agent);
    await agent.waitReady();
    await untilPod(agent, "forever", READY);
    await life.journalIs("forever", [...begun, ...begun]);
    await finished();
    await always(
      "nothing that has finished starts again",
      1_500,
      () => [life.said("done").length, life.said("failed").length].join() === "2,1",
    );
    expect(containerOf(await podOf(agent, "forever"), "setup").state.terminated?.exitCode).toBe(0);
  },
);
