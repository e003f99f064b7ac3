// What arrives over MQTT runs, is answered, survives the broker, the agent, the database and the machine.

import { expect } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { stringify } from "yaml";

import type { AgentProcess } from "../harness/agent-process.ts";
import { startBroker } from "../harness/broker.ts";
import { always, eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/free-port.ts";
import { Ledger, plainPod } from "./support-b-pods.ts";
import { cutPower } from "./support-b-power-cut.ts";
import { openStage, runningApps, runningPods, type RunningContainer } from "./support-b-stage.ts";
import { desired, publishDesired, topicOf, Upstream } from "./support-b-upstream.ts";

const { e2e, temp, containerd, watch, agent: makeAgent } = await openStage();

function explain(agent: AgentProcess): { explain: () => string; timeout: number } {
  return { explain: () => agent.logTail(60), timeout: 60_000 };
}

/** The running containers of an agent, once they are exactly these pods. */
async function untilRunning(
  agent: AgentProcess,
  names: readonly string[],
): Promise<readonly RunningContainer[]> {
  return eventually(
    `exactly these pods of ${agent.nodeName} run: ${names.join(" ")}`,
    async () => {
      const apps = await runningApps(containerd(), agent.nodeName);
      const found = apps.map(({ name }) => name).join(" ");
      if (found !== names.join(" ")) throw new Error(`running: ${found}`);
      return apps;
    },
    explain(agent),
  );
}

e2e(
  "a document in JSON, its edit in YAML, and an allowed emptiness: the pod follows, the report tells",
  async () => {
    const broker = await startBroker(temp, { name: "life-broker" });
    await using client = await broker.client();
    const upstream = await Upstream.follow(client, "life");
    const agent = makeAgent("life", { broker });
    await agent.startReady();
    await upstream.untilState("online");

    // Reports are at least ten seconds apart: only so long a wait for Healthy surely lets one tell 202.
    const policy = { minReadySeconds: 12 };
    await publishDesired(
      broker,
      "life",
      desired("life", { generation: 1, epoch: "e1", policy, resources: [plainPod("web", "1")] }),
    );
    const [first] = await untilRunning(agent, ["web"]);
    const underWay = await upstream.ack(
      "202 is told",
      ({ generation, code }) => generation === 1 && code === 202,
    );
    expect(underWay).toMatchObject({ epoch: "e1", observedGeneration: 0, signed: false });
    expect(["Received", "Downloading", "Applying", "Progressing"]).toContain(underWay.phase);
    const healthy = await upstream.ack("200 is told", ({ code }) => code === 200);
    expect(healthy).toMatchObject({ generation: 1, observedGeneration: 1, phase: "Healthy" });
    const codes = upstream.acks().filter(({ generation }) => generation === 1);
    expect([...new Set(codes.map(({ code }) => code))]).toEqual([202, 200]);

    const report = await upstream.retainedReport();
    expect(report.node).toBe("life");
    expect(report.desired.find(({ source }) => source === "node")).toMatchObject(healthy);
    expect(report.pods).toMatchObject([
      { namespace: "default", name: "web", phase: "Running", ready: "1/1", source: "node" },
    ]);
    const status = await upstream.podStatus("web");
    expect(status?.status).toMatchObject({
      phase: "Running",
      containerStatuses: [{ name: "main" }],
    });

    using events = await watch();
    const edited = desired("life", {
      generation: 2,
      epoch: "e1",
      resources: [plainPod("web", "2"), plainPod("extra")],
    });
    await publishDesired(broker, "life", stringify(edited));
    await eventually(
      "the old container has ended",
      () => events.exits().some(({ containerId }) => containerId === first?.id),
      explain(agent),
    );
    const second = await untilRunning(agent, ["extra", "web"]);
    const successor = second.find(({ name }) => name === "web")?.id;
    const order = events.events.filter(
      ({ topic, containerId }) =>
        (topic === "/tasks/exit" && containerId === first?.id) ||
        (topic === "/tasks/start" && containerId === successor),
    );
    expect(order.map(({ topic }) => topic)).toEqual(["/tasks/exit", "/tasks/start"]);
    await eventually("the pod's status is told", async () => upstream.podStatus("extra"));

    await publishDesired(
      broker,
      "life",
      desired("life", { generation: 3, epoch: "e1", allowEmpty: true, resources: [] }),
    );
    await untilRunning(agent, []);
    await upstream.ack(
      "generation 3 has converged",
      ({ generation, observedGeneration, code }) =>
        generation === 3 && observedGeneration === 3 && code === 200,
    );
    for (const name of ["web", "extra"])
      await eventually(
        `the topic of ${name} is cleared`,
        async () => (await upstream.podStatus(name)) === undefined,
      );
    expect((await upstream.retainedReport()).pods).toEqual([]);
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

interface Refusal {
  readonly what: string;
  readonly code: number;
  readonly says: RegExp;
  readonly payload: (node: string) => object | string;
}

/** Different on every node: on one containerd the same pod cannot run twice. */
const good = (node: string, fields: object = {}): object => plainPod("good", node, fields);
const misspelt = (node: string): object => {
  const pod = good(node) as { spec: { containers: Record<string, unknown>[] } };
  const [container] = pod.spec.containers;
  if (container !== undefined) container["livenesProbe"] = {};
  return pod;
};
const document =
  (fields: object, pods: (node: string) => object = good) =>
  (node: string) =>
    desired(node, { generation: 6, epoch: "e1", resources: [pods(node)], ...fields });
const withHostPath = (node: string): object =>
  good(node, { volumes: [{ name: "etc", hostPath: { path: "/etc" } }] });

/** Each round is refused by another node at the same time: a node reports every ten seconds at most. */
const REFUSALS: readonly (readonly Refusal[])[] = [
  [
    {
      what: "YAML that cannot be parsed",
      code: 400,
      says: /line \d/,
      payload: () => "apiVersion: agent/v1\nkind: DesiredState\n  generation: [6\n",
    },
    {
      what: "an unknown field of a pod",
      code: 400,
      says: /default\/good.*spec\.containers\[0\]\.livenesProbe.*livenessProbe/,
      payload: document({}, misspelt),
    },
  ],
  [
    {
      what: "another kind of document",
      code: 400,
      says: /kind/,
      payload: document({ kind: "DesiredStates" }),
    },
    {
      what: "another node's document",
      code: 403,
      says: /target\.node.*somebody/,
      payload: document({ target: { node: "somebody" } }),
    },
  ],
  [
    {
      what: "a hostPath in an unsigned document",
      code: 403,
      says: /spec\.volumes\[0\]\.hostPath/,
      payload: document({}, withHostPath),
    },
    {
      what: "a signed document without a key",
      code: 401,
      says: /sign/,
      payload: () => ({
        payloadType: "application/vnd.agent.desired.v1+json",
        payload: Buffer.from("{}").toString("base64"),
        signatures: [],
      }),
    },
  ],
  [
    {
      what: "the same generation with other content",
      code: 409,
      says: /generation 5/,
      payload: document({ generation: 5 }, () => plainPod("good", "other")),
    },
    {
      what: "an older generation",
      code: 410,
      says: /generation 4.*generation 5/,
      payload: document({ generation: 4 }),
    },
  ],
  [
    {
      what: "a document that is too large",
      code: 413,
      says: /49152/,
      payload: document({ issuedBy: "x".repeat(50_000) }),
    },
    { what: "an empty payload", code: 417, says: /empty/, payload: () => "" },
    {
      what: "no resources without allowEmpty",
      code: 417,
      says: /allowEmpty/,
      payload: document({ resources: [] }),
    },
  ],
  [
    {
      what: "a feature that is not known",
      code: 412,
      says: /telepathy/,
      payload: document({ requires: { features: ["telepathy"] } }),
    },
  ],
];

e2e(
  "each refusal is answered with its code and changes nothing",
  async () => {
    const broker = await startBroker(temp, { name: "refusal-broker" });
    await using client = await broker.client();
    const nodes = await Promise.all(
      REFUSALS.map(async (refusals, index) => {
        const node = `refuse-${index}`;
        const agent = makeAgent(node, { broker });
        const upstream = await Upstream.follow(client, node);
        const accepted = desired(node, { generation: 5, epoch: "e1", resources: [good(node)] });
        await publishDesired(broker, node, accepted);
        await agent.startReady();
        await upstream.ack("the good one is healthy", ({ code }) => code === 200);
        return { node, agent, upstream, refusals, before: await untilRunning(agent, ["good"]) };
      }),
    );
    using events = await watch();

    await Promise.all(
      nodes.map(async ({ node, agent, upstream, refusals, before }) => {
        const checkpoint = join(agent.paths.state, "desired", "mqtt-node.doc");
        const written = readFileSync(checkpoint);
        for (const { what, code, says, payload } of refusals) {
          await publishDesired(broker, node, payload(node));
          const ack = await upstream.ack(
            `${what} is answered with ${code}`,
            ({ lastRejected }) => lastRejected?.code === code && says.test(lastRejected.message),
          );
          expect(ack).toMatchObject({
            epoch: "e1",
            generation: 5,
            observedGeneration: 5,
            code: 200,
            phase: "Healthy",
          });
          expect(ack.lastRejected?.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
        }
        expect(readFileSync(checkpoint).equals(written)).toBe(true);
        expect(await runningApps(containerd(), node)).toEqual(before);
      }),
    );
    expect(events.events.filter(({ topic }) => topic.startsWith("/tasks/"))).toEqual([]);

    // Nobody signs here: another epoch is an authority that begins anew, whatever its generation.
    const [restored] = nodes;
    if (restored === undefined) throw new Error("there is no node");
    await publishDesired(
      broker,
      restored.node,
      desired(restored.node, { generation: 1, epoch: "e2", resources: [good(restored.node)] }),
    );
    const adopted = await restored.upstream.ack(
      "the new epoch is adopted",
      ({ epoch }) => epoch === "e2",
    );
    expect(adopted).toMatchObject({ generation: 1 });
    expect(await runningApps(containerd(), restored.node)).toEqual(restored.before);
    await Promise.all(nodes.map(async ({ agent }) => agent.kill()));
    await broker.stop();
  },
  180_000,
);

e2e(
  "the last accepted pods run without a broker, after a power cut and with a ruined database",
  async () => {
    const broker = await startBroker(temp, { name: "edge-broker" });
    const agent = makeAgent("edge", { broker });
    const ledger = new Ledger(temp.directory("ledger-edge"));
    agent.writeManifest("static.yaml", ledger.pod({ name: "static", variant: "v1" }));
    const names = ["remote-a", "remote-b", "static"];
    const accepted = desired("edge", {
      generation: 7,
      resources: [plainPod("remote-a"), plainPod("remote-b")],
    });
    {
      await using client = await broker.client();
      const upstream = await Upstream.follow(client, "edge");
      await publishDesired(
        broker,
        "edge",
        desired("edge", { generation: 6, resources: [plainPod("other")] }),
      );
      await agent.startReady();
      await untilRunning(agent, ["other", "static"]);
      await publishDesired(broker, "edge", accepted);
      await upstream.ack(
        "generation 7 is healthy",
        ({ generation, code }) => generation === 7 && code === 200,
      );
    }
    const before = await untilRunning(agent, names);
    await broker.stop();

    const database = join(agent.paths.state, "agent.db");
    const ruin = (): void => {
      writeFileSync(database, "this is no database ".repeat(1_000));
      for (const suffix of ["-wal", "-shm"]) rmSync(`${database}${suffix}`, { force: true });
    };
    /** Nothing starts or ends although the agent was killed and starts anew. */
    const staysThrough = async (expected: readonly RunningContainer[], between: () => void) => {
      await agent.kill("SIGKILL");
      between();
      using events = await watch();
      await agent.startReady();
      await always("nothing starts, nothing ends", 1_500, () =>
        events.events.every(({ topic }) => !topic.startsWith("/tasks/")),
      );
      expect(await runningApps(containerd(), "edge")).toEqual(expected);
    };
    const powerCut = async (between: () => void) => {
      await agent.kill("SIGKILL");
      between();
      await cutPower(containerd());
      expect(await runningPods(containerd(), "edge")).toEqual([]);
      using events = await watch();
      await agent.startReady();
      const after = await untilRunning(agent, names);
      const starts = events.starts().length;
      await always("nothing starts twice", 1_000, () => events.starts().length === starts);
      expect(events.exits()).toEqual([]);
      expect(await runningApps(containerd(), "edge")).toEqual(after);
      return after;
    };

    await staysThrough(before, () => undefined);
    const rebooted = await powerCut(() => undefined);
    expect(ledger.starts("static")).toBe(2);
    await staysThrough(rebooted, ruin);
    const ruined = readdirSync(agent.paths.state).filter(
      (name) =>
        name.startsWith("agent.db") &&
        readFileSync(join(agent.paths.state, name)).includes("this is no database"),
    );
    expect(ruined.length).toBe(1);
    const loud = agent
      .logLines()
      .some(
        ({ level, ...rest }) =>
          (level === "warn" || level === "error") && JSON.stringify(rest).includes("agent.db"),
      );
    expect(loud).toBe(true);
    const again = await powerCut(ruin);
    expect(ledger.starts("static")).toBe(3);
    expect(ledger.overlaps()).toEqual([]);

    await broker.start();
    await using client = await broker.client();
    const upstream = await Upstream.follow(client, "edge");
    using events = await watch();
    await publishDesired(
      broker,
      "edge",
      desired("edge", { generation: 6, resources: [plainPod("other")] }),
    );
    const refused = await upstream.ack(
      "generation 6 is too old",
      ({ lastRejected }) => lastRejected?.code === 410,
    );
    expect(refused).toMatchObject({ generation: 7 });
    expect(refused.lastRejected?.message).toContain("7");
    expect(events.events.filter(({ topic }) => topic.startsWith("/tasks/"))).toEqual([]);
    expect(await runningApps(containerd(), "edge")).toEqual(again);
    await agent.kill();
    await broker.stop();
  },
  180_000,
);

e2e(
  "a broker that is absent, refuses, talks rubbish or says nothing disturbs no pod",
  async () => {
    const refusing = await startBroker(temp, {
      name: "refusing-broker",
      extra: ["allow_anonymous false"],
    });
    const talk = (answer: string) =>
      Bun.listen({
        hostname: "127.0.0.1",
        port: 0,
        socket: { open: (socket) => void socket.write(answer), data: () => undefined },
      });
    const rubbish = talk("HTTP/1.1 400 Bad Request\r\n\r\n".repeat(100));
    const silent = talk("");
    const urls = {
      absent: `mqtt://127.0.0.1:${freePort()}`,
      refusing: refusing.url,
      rubbish: `mqtt://127.0.0.1:${rubbish.port}`,
      silent: `mqtt://127.0.0.1:${silent.port}`,
    };
    await Promise.all(
      Object.entries(urls).map(async ([name, mqttUrl]) => {
        const agent = makeAgent(`${name}-broker-node`, { mqttUrl });
        const ledger = new Ledger(temp.directory(`ledger-${name}`));
        agent.writeManifest("web.yaml", ledger.pod({ name: "web", variant: "v1" }));
        await agent.startReady();
        const before = await untilRunning(agent, ["web"]);
        agent.writeManifest("more.yaml", ledger.pod({ name: "more", variant: "v1" }));
        await untilRunning(agent, ["more", "web"]);
        await always(
          `the agent with a broker that is ${name} is healthy`,
          3_000,
          async () => agent.running && (await agent.api("/healthz")).status === 200,
        );
        const after = await runningApps(containerd(), agent.nodeName);
        expect(after.filter(({ name: pod }) => pod === "web")).toEqual([...before]);
        expect(ledger.lines().map(({ kind }) => kind)).toEqual(["start", "start"]);
        await agent.kill();
      }),
    );
    rubbish.stop(true);
    silent.stop(true);
    await refusing.stop();
  },
  180_000,
);

e2e(
  "a broker that comes back without its memory is told everything again, and no pod notices",
  async () => {
    const signals = ["SIGTERM", "SIGKILL"] as const;
    await Promise.all(signals.map(async (signal) => comesBackWiped(signal)));
  },
  180_000,
);

async function comesBackWiped(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const node = `wiped-${signal.toLowerCase()}`;
  const broker = await startBroker(temp, { name: `${node}-broker`, persistence: false });
  const agent = makeAgent(node, { broker });
  await using client = await broker.client();
  const upstream = await Upstream.follow(client, node);
  const pod = plainPod("web", node);
  await publishDesired(broker, node, desired(node, { generation: 1, resources: [pod] }));
  await agent.startReady();
  const birth = await upstream.untilState("online");
  const bornAt = performance.now();
  await upstream.ack("generation 1 is healthy", ({ code }) => code === 200);
  const before = await untilRunning(agent, ["web"]);
  // A session that ends sooner looks like a second device of this name, which is met with patience.
  await eventually("the session is old enough", () => performance.now() - bornAt > 10_500, {
    timeout: 60_000,
  });

  using events = await watch();
  await broker.restart(signal);
  const told = await upstream.untilState("online", 30_000);
  expect(told.incarnation).toBe(birth.incarnation);
  expect(told.session).toBeGreaterThan(birth.session);
  const report = await eventually(
    "the report is back",
    async () => upstream.retainedReport(),
    explain(agent),
  );
  expect(report.desired.find(({ source }) => source === "node")).toMatchObject({
    generation: 1,
    observedGeneration: 1,
    code: 200,
  });
  await eventually(
    "the pod's status is back",
    async () => upstream.podStatus("web"),
    explain(agent),
  );
  const own = new Set(before.map(({ id }) => id));
  const touched = events.events.filter(
    ({ topic, containerId }) => topic.startsWith("/tasks/") && own.has(containerId),
  );
  expect(touched).toEqual([]);
  expect(await runningApps(containerd(), node)).toEqual(before);
  await agent.kill();
  await broker.stop();
}

e2e(
  "birth, last will and farewell; everything works on MQTT 3.1.1",
  async () => {
    const broker = await startBroker(temp, { name: "birth-broker" });
    await using client = await broker.client();
    const upstream = await Upstream.follow(client, "birth");
    const agent = makeAgent("birth", { broker, mqtt: { protocolVersion: 4 } });
    await agent.startReady();
    const birth = await upstream.untilState("online");
    expect(readFileSync(broker.logFile, "utf8")).toMatch(/ as birth \(p2,/);
    await publishDesired(
      broker,
      "birth",
      desired("birth", { generation: 1, resources: [plainPod("web")] }),
    );
    await upstream.ack("generation 1 is healthy", ({ code }) => code === 200);
    const before = await untilRunning(agent, ["web"]);
    await eventually("the pod's status is told", async () => upstream.podStatus("web"));

    await agent.kill("SIGKILL");
    const lost = await upstream.untilState("lost");
    expect(lost).toMatchObject({ incarnation: birth.incarnation, session: birth.session });
    await agent.startReady();
    const reborn = await upstream.untilState("online");
    expect(reborn.incarnation).toBe(birth.incarnation);
    expect(reborn.session).toBeGreaterThan(birth.session);

    expect(await agent.kill("SIGTERM")).toBe(0);
    const farewell = await upstream.untilState("offline", 30_000);
    expect(farewell.session).toBe(reborn.session);
    expect(await runningApps(containerd(), "birth")).toEqual(before);
    expect(await upstream.podStatus("web")).toBeDefined();

    agent.configure({
      endpoint: containerd().endpoint,
      cgroupRoot: containerd().cgroupRoot,
      mqttUrl: broker.url,
      instance: "birth",
      mqtt: { protocolVersion: 5 },
    });
    await agent.startReady();
    await upstream.untilState("online");
    expect(readFileSync(broker.logFile, "utf8")).toMatch(/ as birth \(p5,/);
    await publishDesired(
      broker,
      "birth",
      desired("birth", { generation: 2, allowEmpty: true, resources: [] }),
    );
    await untilRunning(agent, []);
    await eventually(
      "the pod's topic is cleared",
      async () =>
        (await client.retained(topicOf("birth", "reported/pod/default/web"))) === undefined,
      explain(agent),
    );
    expect(await agent.kill("SIGTERM")).toBe(0);
    await upstream.untilState("offline", 30_000);
    await broker.stop();
  },
  180_000,
);
