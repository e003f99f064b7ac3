// Probes of real containers: what they kill, what they make ready, and what they ask.

import { expect } from "bun:test";

import type { PodView } from "../../src/node/api-views.ts";
import { always, eventually } from "../harness/eventually.ts";
import { openLife, uptime } from "./support-c-life.ts";
import { HealthServer, HttpServer } from "./support-c-servers.ts";
import { getNode } from "./support-a-agent.ts";
import {
  conditionOf,
  containerOf,
  eventsOf,
  idOf,
  inPhase,
  isTrue,
  podOf,
  READY,
  untilEvent,
  untilPod,
} from "./support-c-views.ts";

const { life, e2e, agent } = await openLife();

/** Its only container was restarted so often and runs. */
function restarted(times: number): {
  readonly is: string;
  readonly when: (pod: PodView) => boolean;
} {
  return {
    is: `was restarted ${times} times`,
    when: (pod) => {
      const [status] = pod.status.containerStatuses ?? [];
      return status?.restartCount === times && status.state.running !== undefined;
    },
  };
}

const LIVENESS = [
  { kind: "exec", says: /^Liveness probe failed: .*\/tmp\/healthy/ },
  { kind: "http", says: /^Liveness probe failed: HTTP probe failed with statuscode: 404$/ },
  { kind: "tcp", says: /^Liveness probe failed: .*refused/ },
] as const;

e2e.concurrent.each(LIVENESS.map((each) => [each.kind, each] as const))(
  "a failing liveness probe of kind %s restarts the container, and says so",
  async (kind, { says }) => {
    const pod = `liveness-${kind}`;
    life.put(agent, pod);
    const well = containerOf(await untilPod(agent, pod, READY), "main");
    // Without a readiness probe it is ready before its shell has come to say so.
    await life.heard(pod, "main start");
    await always(`${pod} stays well`, 2_500, () => life.lines(pod).length === 1);
    expect(containerOf(await podOf(agent, pod), "main").restartCount).toBe(0);
    expect((await eventsOf(agent, pod)).map(({ reason }) => reason)).not.toContain("Killing");

    life.openGate(`break-${kind}`);
    await untilEvent(agent, pod, {
      reason: "Unhealthy",
      type: "Warning",
      container: "main",
      message: says,
    });
    await untilEvent(agent, pod, {
      reason: "Killing",
      type: "Normal",
      container: "main",
      message: /^Container main failed liveness probe, will be restarted$/,
    });
    await life.journalIs(pod, ["main start", "main stop", "main start"]);
    const again = containerOf(await untilPod(agent, pod, restarted(1)), "main");
    expect(again.containerID).not.toBe(well.containerID);
    expect(again.lastState.terminated).toMatchObject({
      exitCode: 0,
      containerID: well.containerID,
    });
    await untilPod(agent, pod, READY);
  },
);

e2e.concurrent("probes of kind grpc ask the health service by its services' names", async () => {
  const { addresses = [] } = (await getNode(agent)).status;
  const host = addresses.find(({ type }) => type === "InternalIP")?.address ?? "127.0.0.1";
  const { server, port } = await HealthServer.listen(host, {
    "": "NOT_SERVING",
    liveness: "SERVING",
  });
  using health = server;
  life.put(agent, "liveness-grpc", { PORT: port });
  await untilEvent(agent, "liveness-grpc", {
    reason: "Unhealthy",
    message: /^Readiness probe failed: .*NOT_SERVING/,
  });
  expect(isTrue(await podOf(agent, "liveness-grpc"), "Ready")).toBe(false);
  health.say("", "SERVING");
  const ready = await untilPod(agent, "liveness-grpc", READY);
  expect(containerOf(ready, "main").restartCount).toBe(0);

  health.say("liveness", "NOT_SERVING");
  await untilEvent(agent, "liveness-grpc", {
    reason: "Unhealthy",
    message: /^Liveness probe failed: .*NOT_SERVING/,
  });
  await life.heard("liveness-grpc", "main start", 2);
  health.say("liveness", "SERVING");
  expect(new Set(health.asked)).toEqual(new Set(["", "liveness"]));
  await untilPod(agent, "liveness-grpc", READY);
  // The pod goes before its server does.
  agent.removeManifest("liveness-grpc.yaml");
  await eventually("nobody asks any more", async () => {
    const asked = health.asked.length;
    await Bun.sleep(1_500);
    return health.asked.length === asked;
  });
});

e2e.concurrent("readiness turns the condition Ready at once and restarts nothing", async () => {
  let answer = 503;
  using server = new HttpServer(() => new Response("", { status: answer }));
  /** Seconds from the first changed answer until the local API shows it. */
  const turns = async (status: number, ready: boolean): Promise<number> => {
    const before = server.questions.length;
    answer = status;
    await untilPod(agent, "readiness", {
      is: `is ${ready ? "" : "not "}ready`,
      when: (pod) => isTrue(pod, "Ready") === ready,
    });
    const seen = uptime();
    const asked = server.questions.slice(before)[0];
    return seen - (asked?.at ?? Number.NaN);
  };
  life.put(agent, "readiness", { PORT: server.port });
  await server.asked("/ready", 2);
  const first = await podOf(agent, "readiness");
  expect(first.status.phase).toBe("Running");
  expect(conditionOf(first, "Ready")).toMatchObject({
    status: "False",
    reason: "ContainersNotReady",
    message: "containers with unready status: [main]",
  });
  expect(containerOf(first, "main")).toMatchObject({ ready: false, started: true });

  const delays = [await turns(200, true), await turns(503, false), await turns(200, true)];
  // The next question would come four seconds after the one that was answered.
  for (const delay of delays) expect(delay).toBeLessThan(3);
  const last = await podOf(agent, "readiness");
  expect(containerOf(last, "main").restartCount).toBe(0);
  expect(life.said("readiness")).toEqual(["main start"]);
  await untilEvent(agent, "readiness", {
    reason: "Unhealthy",
    message: /^Readiness probe failed: HTTP probe failed with statuscode: 503$/,
    count: 2,
  });
  agent.removeManifest("readiness.yaml");
  await life.heard("readiness", "main stop");
});

e2e.concurrent("a startup probe protects a slow start from the liveness probe", async () => {
  life.put(agent, "startup");
  await untilEvent(agent, "slow-start", {
    reason: "Unhealthy",
    message: /^Startup probe failed: /,
    count: 3,
  });
  const starting = await podOf(agent, "slow-start");
  expect(containerOf(starting, "main")).toMatchObject({
    started: false,
    ready: false,
    restartCount: 0,
  });
  life.openGate("startup-done");
  const started = await untilPod(agent, "slow-start", READY);
  expect(containerOf(started, "main")).toMatchObject({ started: true, restartCount: 0 });
  expect(life.said("slow-start")).toEqual(["main start"]);

  life.openGate("startup-break");
  await untilEvent(agent, "slow-start", { reason: "Killing", message: /failed liveness probe/ });
  await life.journalIs("slow-start", ["main start", "main stop", "main start"]);
});

e2e.concurrent("a container that never says it has started is started again", async () => {
  life.put(agent, "startup-fails");
  await untilEvent(agent, "never-started", {
    reason: "Unhealthy",
    message: /^Startup probe failed: not yet/,
    count: 2,
  });
  await untilEvent(agent, "never-started", {
    reason: "Killing",
    message: /^Container main failed startup probe, will be restarted$/,
  });
  await life.heard("never-started", "main start", 3);
  const pod = await podOf(agent, "never-started");
  expect(isTrue(pod, "Ready")).toBe(false);
  expect(containerOf(pod, "main").restartCount).toBeGreaterThanOrEqual(1);
  agent.removeManifest("startup-fails.yaml");
});

e2e.concurrent("the probe's own grace period counts when the probe kills", async () => {
  life.put(agent, "probe-grace");
  const id = idOf(containerOf(await untilPod(agent, "probe-grace", READY), "main"));
  const before = uptime();
  life.openGate("break-grace");
  const { at, exitCode } = await life.end(id);
  life.closeGate("break-grace");
  expect(exitCode).toBe(137);
  expect(at - before).toBeGreaterThan(0.9);
  expect(at - before).toBeLessThan(60);
  const again = containerOf(await untilPod(agent, "probe-grace", restarted(1)), "main");
  expect(again.lastState.terminated).toMatchObject({ exitCode: 137, reason: "Error" });
  // Its hour of grace is nobody's who clears up after the test.
  await life.killTask(idOf(again));
  agent.removeManifest("probe-grace.yaml");
});

e2e.concurrent(
  "under Never a container that its probe has killed is the end of the pod",
  async () => {
    life.put(agent, "probe-never");
    const pod = await untilPod(agent, "probe-never", { ...inPhase("Succeeded"), timeout: 60_000 });
    expect(containerOf(pod, "main")).toMatchObject({
      restartCount: 0,
      ready: false,
      state: { terminated: { exitCode: 0 } },
    });
    await life.journalIs("probe-never", ["main start", "main stop"]);
  },
);

e2e.concurrent("an HTTP probe asks as the kubelet asks", async () => {
  using away = new HttpServer(() => new Response(""));
  using server = new HttpServer((path) => {
    if (path === "/redirected") return Response.redirect("/here");
    if (path === "/sent-away") return Response.redirect(`http://localhost:${away.port}/elsewhere`);
    return new Response("");
  });
  using encrypted = new HttpServer(() => new Response(""), { tls: true });
  life.put(agent, "probe-questions", { PORT: server.port, TLS_PORT: encrypted.port });
  await untilPod(agent, "questions", READY);

  const [plain] = server.about("/plain");
  expect(plain).toMatchObject({ method: "GET", path: "/plain?deep=yes" });
  expect(plain?.headers.get("host")).toBe(`127.0.0.1:${server.port}`);
  expect(plain?.headers.get("user-agent")).toMatch(/^kube-probe\//);
  expect(plain?.headers.get("accept")).toBe("*/*");
  const [headers] = server.about("/headers");
  expect(headers?.headers.get("host")).toBe("status.example");
  expect(headers?.headers.get("x-question")).toBe("are you well?");
  expect(headers?.headers.get("user-agent")).toBe("test");
  expect(server.about("/here").length).toBeGreaterThanOrEqual(1);
  expect(encrypted.about("/encrypted").length).toBeGreaterThanOrEqual(1);
  // Another host is not followed: it counts as well, with a warning.
  await untilEvent(agent, "questions", { reason: "ProbeWarning", container: "sent-away" });
  expect(away.questions).toEqual([]);
  agent.removeManifest("probe-questions.yaml");
  await life.heard("questions", "plain stop");
});

e2e.concurrent("bad, late and too few answers leave a container unready", async () => {
  using server = new HttpServer((path) => {
    if (path === "/silent") return undefined;
    return new Response("out of order", { status: path === "/broken" ? 500 : 200 });
  });
  life.put(agent, "probe-bad-answers", { PORT: server.port });
  const pod = await untilPod(agent, "bad-answers", {
    is: "has its patient container ready",
    when: (seen) => containerOf(seen, "patient").ready,
  });
  const [first] = server.about("/patient");
  const started = await life.heard("bad-answers", "patient start");
  expect(server.about("/patient").length).toBeGreaterThanOrEqual(3);
  expect((first?.at ?? 0) - started.at).toBeGreaterThan(1);
  expect(conditionOf(pod, "Ready")?.status).toBe("False");
  const FAILURES = [
    {
      container: "broken",
      message: /^Readiness probe failed: HTTP probe failed with statuscode: 500$/,
    },
    { container: "silent", message: /^Readiness probe (failed|errored)/ },
    { container: "slow-exec", message: /^Readiness probe (failed|errored).*time/ },
  ];
  for (const failure of FAILURES)
    await untilEvent(agent, "bad-answers", { reason: "Unhealthy", type: "Warning", ...failure });
  for (const { container } of FAILURES) {
    const status = containerOf(await podOf(agent, "bad-answers"), container);
    expect(status).toMatchObject({ ready: false, started: true, restartCount: 0 });
  }
  agent.removeManifest("probe-bad-answers.yaml");
  await life.heard("bad-answers", "broken stop");
});

e2e("probes go on when the agent was restarted, and no container notices", async () => {
  const pods = ["liveness-exec", "liveness-http", "liveness-tcp"];
  const before = await Promise.all(
    pods.map(async (pod) => containerOf(await podOf(agent, pod), "main")),
  );
  await agent.restart("SIGKILL");
  for (const pod of pods) await untilPod(agent, pod, READY);
  await always("no container ends", 2_500, () => pods.every((pod) => life.lines(pod).length === 3));
  const after = await Promise.all(
    pods.map(async (pod) => containerOf(await podOf(agent, pod), "main")),
  );
  expect(after.map(({ containerID }) => containerID)).toEqual(
    before.map(({ containerID }) => containerID),
  );

  for (const kind of ["exec", "http", "tcp"]) life.openGate(`break-${kind}`);
  for (const pod of pods) {
    await untilEvent(agent, pod, { reason: "Killing", message: /failed liveness probe/ });
    await life.heard(pod, "main start", 3);
  }
});
