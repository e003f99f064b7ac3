// docs/operations.md as it stands there: its commands make the certificates, its files run mosquitto and an agent.

import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { parse } from "yaml";

import { startBroker, type Broker } from "../harness/broker.ts";
import type { BrokerClient, BrokerTls } from "../harness/broker-client.ts";
import { eventually } from "../harness/eventually.ts";
import { run } from "../harness/run-command.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage } from "./support-b-stage.ts";
import { desired, topicOf, Upstream } from "./support-b-upstream.ts";

const { e2e, temp, agent: makeAgent } = await openStage();
const page = readFileSync(resolve(import.meta.dir, "../../docs/operations.md"), "utf8");
const certificates = temp.directory("certificates");

/** The fenced block that begins with `# name`. */
function block(name: string): string {
  const blocks = [...page.matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text);
  const found = blocks.find((text) => text.startsWith(`# ${name}`));
  if (found === undefined) throw new Error(`docs/operations.md has no block ${name}`);
  return found;
}

/** Runs the commands of the page; the broker of this test has an address instead of a name. */
async function makeCertificates(): Promise<void> {
  const commands = block("A CA of your own").replace("DNS:broker.example", "IP:127.0.0.1");
  const script = `set -e\ncd ${certificates}\n${commands}`;
  const { code, stderr } = await run(["sh", "-c", script], { timeout: 60_000 });
  if (code !== 0) throw new Error(stderr);
}

async function startFromPage(): Promise<Broker> {
  const acl = join(certificates, "agent.acl");
  // The last line is for the test's own clients, who ask on topics of their own.
  writeFileSync(acl, `${block("/etc/mosquitto/agent.acl")}\npattern readwrite harness/#\n`);
  const lines = block("/etc/mosquitto/conf.d/agent.conf")
    .replaceAll("/etc/mosquitto/certs", certificates)
    .replaceAll("/etc/mosquitto/agent.acl", acl)
    .split("\n");
  const listener = lines.filter((line) => !/^(#|listener |$)/.test(line));
  expect(listener).toContain("require_certificate true");
  return startBroker(temp, { name: "acl-broker", listener });
}

function identity(name: string): BrokerTls {
  const read = (file: string): string => readFileSync(join(certificates, file), "utf8");
  return { ca: read("ca.pem"), cert: read(`${name}.pem`), key: read(`${name}.key`) };
}

/** The `mqtt` section of the page with the files where they are here. */
function mqttSection(): Readonly<Record<string, unknown>> {
  const text = block("/etc/agent/agent.yaml").replaceAll("/etc/agent", certificates);
  const { nodeName, mqtt } = parse(text) as {
    readonly nodeName: string;
    readonly mqtt: Readonly<Record<string, unknown>>;
  };
  expect(nodeName).toBe("pi-1");
  const { url, ...files } = mqtt;
  expect(url).toStartWith("mqtts://");
  return files;
}

const UP = ["state", "reported", "reported/pod/default/x", "event", "response", "response/1"];
const DOWN = ["desired", "command"];
const GROUP = ["desired", "rollout", "command"].map((leaf) => `agent/v1/group/kiosks/${leaf}`);
const BLOB = `agent/v1/blob/${"0".repeat(64)}`;

/** Whether the operator gets to see what `client` says on `topic`. */
async function isTaken(
  client: BrokerClient,
  operator: BrokerClient,
  topic: string,
): Promise<boolean> {
  const text = JSON.stringify({ probe: crypto.randomUUID() });
  const heard = await operator.collect(topic);
  await client.publish(topic, text).catch(() => undefined); // Refused in MQTT 5's words.
  // Whatever was taken is on its way before this one.
  await operator.publish(topic, "after");
  await heard.next(({ payload }) => payload === "after");
  return heard.messages.some(({ payload }) => payload === text);
}

e2e(
  "an agent works behind the access list of the documentation, and no other identity is let near it",
  async () => {
    await makeCertificates();
    const broker = await startFromPage();
    await using operator = await broker.client(identity("operator"));
    const upstream = await Upstream.follow(operator, "pi-1");
    const agent = makeAgent("pi-1", { broker, mqtt: mqttSection() });
    await agent.startReady();
    await upstream.untilState("online");

    const resources = [plainPod("web")];
    const document = JSON.stringify(desired("pi-1", { generation: 1, resources }));
    await operator.publish(topicOf("pi-1", "desired"), document, { retain: true });
    await upstream.ack("200 is told", ({ code }) => code === 200, 60_000);
    await eventually("the pod's status is told", async () => upstream.podStatus("web"));
    const events = await operator.collect(topicOf("pi-1", "event"));
    await operator.publish(
      topicOf("pi-1", "desired"),
      JSON.stringify(desired("pi-1", { generation: 2, resources: [plainPod("web", "2")] })),
      { retain: true },
    );
    await events.next(({ payload }) => payload.includes("Started"), 60_000);
    await upstream.ack("200 is told again", (ack) => ack.generation === 2 && ack.code === 200);
    const { status } = await upstream.retainedReport();
    const types = status.conditions.map(({ type }) => type);
    expect(types).toContain("Ready");
    expect(types.filter((type) => /Denied|Certificate|Duplicate/.test(type))).toEqual([]);
    expect(readFileSync(broker.logFile, "utf8")).not.toContain("Denied PUBLISH from pi-1");

    await using stranger = await broker.client(identity("pi-2"));
    const overheard = await stranger.collect("#");
    for (const leaf of [...UP, "log/default/web/main"])
      expect([leaf, await isTaken(stranger, operator, topicOf("pi-1", leaf))]).toEqual([
        leaf,
        false,
      ]);
    const foreign = [
      ...DOWN.map((leaf) => topicOf("pi-1", leaf)),
      ...GROUP,
      "agent/v1/trust",
      BLOB,
    ];
    for (const topic of foreign)
      expect([topic, await isTaken(stranger, operator, topic)]).toEqual([topic, false]);
    const own = topicOf("pi-2", "desired");
    await operator.publish(own, "for pi-2");
    await overheard.next(({ topic }) => topic === own);
    const heard = new Set(overheard.messages.map(({ topic }) => topic));
    expect([...heard].toSorted()).toEqual([BLOB, own, "agent/v1/trust"]);
    expect(await stranger.retained(topicOf("pi-1", "desired"))).toBeUndefined();
    expect(await stranger.retained(topicOf("pi-1", "reported"))).toBeUndefined();
    await agent.kill();

    // The device's own certificate, in wrong hands: it still is that device only.
    await using thief = await broker.client(identity("pi-1"));
    const theirs = await thief.collect("#");
    for (const leaf of [...UP, "log/default/web/main"])
      expect([leaf, await isTaken(thief, operator, topicOf("pi-1", leaf))]).toEqual([leaf, true]);
    for (const topic of [...foreign, topicOf("pi-2", "state")])
      expect([topic, await isTaken(thief, operator, topic)]).toEqual([topic, false]);
    const meant = new Set(theirs.messages.map(({ topic }) => topic));
    expect([...meant].toSorted()).toEqual([...foreign].toSorted());
    await broker.stop();
  },
  180_000,
);
