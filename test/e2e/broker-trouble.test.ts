// Whatever happens to the broker, the pods run on, and what it retains of the node is right within 30 s of the reconnection.

import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { stringify } from "yaml";

import { agentBinary, type LogLine } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX_1 } from "../harness/images.ts";
import { run, type CommandResult } from "../harness/run-command.ts";
import { plainPod } from "./support-b-pods.ts";
import { openStage, runningApps } from "./support-b-stage.ts";
import { desired, publishDesired, topicOf } from "./support-b-upstream.ts";
import { connects, isTold, isToldAgain, toldBy } from "./support-g-told.ts";
import {
  comesBack,
  copyMemory,
  forgetEverything,
  healthy,
  healthyPatient,
  isOldEnough,
  runHere,
  staysRight,
  Unmoved,
  type Patient,
} from "./support-g-trouble.ts";

const stage = await openStage();
const { e2e, temp } = stage;

const PODS = ["extra", "local", "web"];

/** A pod of a file: what the broker did not see coming. */
async function addsAPod(patient: Patient): Promise<void> {
  patient.agent.writeManifest("new.yaml", plainPod("new", patient.name));
  await runHere(patient, ["extra", "local", "new", "web"]);
}

async function ends({ agent, broker }: Patient): Promise<void> {
  expect(agent.running).toBe(true);
  await agent.kill();
  await broker.stop();
}

e2e.concurrent(
  "a broker that is killed for a while comes back with what it had",
  async () => {
    const patient = await healthyPatient(stage, "killed");
    using unmoved = await Unmoved.from(stage, patient, PODS);
    await patient.broker.stop("SIGKILL");
    await addsAPod(patient);
    await Bun.sleep(5_000);
    await comesBack(patient, { ack: healthy(1) });
    await unmoved.check(["extra", "local", "new", "web"]);

    // And once more, with nothing that is new to tell.
    await isOldEnough(patient.agent);
    await patient.broker.stop("SIGKILL");
    await comesBack(patient, { ack: healthy(1) });
    await unmoved.check(["extra", "local", "new", "web"]);
    await ends(patient);
  },
  180_000,
);

e2e.concurrent(
  "a broker that has lost everything is told everything, and apply goes on counting",
  async () => {
    const patient = await healthyPatient(stage, "emptied");
    const { name, broker, agent } = patient;
    const first = await toldBy(broker, name);
    using unmoved = await Unmoved.from(stage, patient, PODS);
    await broker.stop("SIGKILL");
    forgetEverything(broker);
    await comesBack(patient, { ack: healthy(1) });
    const told = await toldBy(broker, name);
    expect(told.report?.incarnation).toBe(first.report?.incarnation);
    await using client = await broker.client();
    expect(await client.retained(topicOf(name, "desired"))).toBeUndefined();
    await unmoved.check();

    const file = join(temp.directory("emptied-desk"), "web.yaml");
    const pods = [plainPod("web", "applied"), plainPod("extra", name)];
    writeFileSync(file, pods.map((pod) => stringify(pod)).join("---\n"));
    const applied = await fleet(patient, "apply", "-f", file, "--node", name, "--wait");
    expect(applied.stdout).toStartWith(`generation 2 of node ${name} is published`);
    expect(applied).toMatchObject({ code: 0 });
    using rest = await Unmoved.from(stage, patient, ["extra", "local"]);
    await isTold(patient, { ack: healthy(2) });
    await rest.check(PODS);
    expect(agent.running).toBe(true);
    await ends(patient);
  },
  180_000,
);

function fleet({ broker }: Patient, ...args: readonly string[]): Promise<CommandResult> {
  return run([agentBinary(), "fleet", ...args, "--url", broker.url], { timeout: 90_000 });
}

e2e.concurrent(
  "a broker with an older memory is told what is true, and its older document is refused",
  async () => {
    const patient = await healthyPatient(stage, "older");
    const { name, broker } = patient;
    await broker.stop();
    const isOlderAgain = copyMemory(broker);
    await comesBack(patient, { ack: healthy(1) });
    const resources = [plainPod("web", "second"), plainPod("more", name)];
    await publishDesired(broker, name, desired(name, { generation: 2, resources }));
    await runHere(patient, ["local", "more", "web"]);
    await isTold(patient, { ack: healthy(2) });
    await isOldEnough(patient.agent);

    using unmoved = await Unmoved.from(stage, patient, ["local", "more", "web"]);
    await broker.stop();
    const lastRejected = { code: 410, generation: 1 };
    const expected = { ack: { ...healthy(2), lastRejected }, mayBeStale: true };
    await comesBack(patient, expected, isOlderAgain);
    const { report, pods } = await toldBy(broker, name);
    const ack = report?.desired.find(({ source }) => source === "node");
    expect(ack?.lastRejected?.message).toContain("accepted generation 2");
    // What is not among the pods of the report is stale, whatever its topic says.
    expect([...pods.keys()].toSorted()).toEqual(
      ["extra", "local", "more", "web"].map((pod) => `default/${pod}`),
    );
    await unmoved.check();

    // The authority learns of it, and goes on from there.
    const third = join(temp.directory("older-desk"), "third.yaml");
    writeFileSync(third, resources.map((pod) => stringify(pod)).join("---\n"));
    const applied = await fleet(patient, "apply", "-f", third, "--node", name, "--wait");
    expect(applied.stdout).toStartWith(`generation 3 of node ${name} is published`);
    expect(applied).toMatchObject({ code: 0 });
    await unmoved.check();
    await ends(patient);
  },
  180_000,
);

e2e.concurrent(
  "a broker that hangs is noticed, and told the truth when it goes on",
  async () => {
    const patient = await healthyPatient(stage, "frozen", { mqtt: { keepAliveSeconds: 4 } });
    const { agent, broker } = patient;
    using unmoved = await Unmoved.from(stage, patient, PODS);
    const before = connects(agent);
    broker.signal("SIGSTOP");
    const isNoticed = (): boolean =>
      agent.logLines().some(({ msg }) => msg === "the connection to the broker ended");
    await addsAPod(patient);
    await eventually("it is noticed", isNoticed, {
      timeout: 60_000,
      explain: () => agent.logTail(),
    });
    await Bun.sleep(5_000);
    broker.signal("SIGCONT");
    await isToldAgain(patient, before, { ack: healthy(1) });
    // The will of the session that hung comes 30 s late, if at all.
    await staysRight(patient, { ack: healthy(1) }, 35);
    await unmoved.check(["extra", "local", "new", "web"]);
    await ends(patient);
  },
  180_000,
);

e2e.concurrent(
  "a document that no session brings is found at the next connect, and obeyed",
  async () => {
    const patient = await healthyPatient(stage, "dropped", {
      byLine: true,
      extra: ["max_queued_messages 1"],
    });
    const { name, broker, agent, line } = patient;
    using unmoved = await Unmoved.from(stage, patient, PODS);
    await using client = await broker.client();
    const publish = (generation: number, names: readonly string[]): Promise<void> => {
      const resources = names.map((pod) => plainPod(pod, name));
      return publishDesired(broker, name, desired(name, { generation, resources }));
    };

    // Something else has taken the only place in the queue.
    await isCut(patient);
    await client.publish(topicOf(name, "command"), "taken");
    await publish(2, ["extra", "more", "web"]);
    expect(readFileSync(broker.logFile, "utf8")).toContain(
      `Outgoing messages are being dropped for client ${name}.`,
    );
    let before = connects(agent);
    await line.mend();
    await isToldAgain(patient, before, { ack: healthy(2) });
    expect(lastConnect(patient)).toMatchObject({ sessionPresent: true });
    await unmoved.check(["extra", "local", "more", "web"]);

    // There is no queue any more.
    await isOldEnough(agent);
    await isCut(patient);
    const port = String(broker.port);
    const takeOver = ["mosquitto_sub", "-p", port, "-i", name, "-t", "nothing", "-E"];
    expect(await run(takeOver, { timeout: 60_000 })).toMatchObject({ code: 0 });
    await publish(3, ["extra", "web"]);
    before = connects(agent);
    await line.mend();
    await isToldAgain(patient, before, { ack: healthy(3) });
    expect(lastConnect(patient)).toMatchObject({ sessionPresent: false });
    await unmoved.check();
    await ends(patient);
    line.cut();
  },
  180_000,
);

/** Node and broker both know that they have lost each other. */
async function isCut({ agent, broker, line, name }: Patient): Promise<void> {
  const known = () => [
    agent.logLines().filter(({ msg }) => msg === "the connection to the broker ended").length,
    readFileSync(broker.logFile, "utf8").split(`Client ${name} closed its connection`).length,
  ];
  const [ofNode = 0, ofBroker = 0] = known();
  line.cut();
  await eventually("both know that the line is cut", () => {
    const [nodeKnows = 0, brokerKnows = 0] = known();
    return nodeKnows > ofNode && brokerKnows > ofBroker;
  });
}

function lastConnect({ agent }: Patient): object | undefined {
  return agent.logLines().findLast(({ msg }) => msg === "connected to the broker");
}

const SLOW_STOP = "trap 'sleep 6; exit 0' TERM; sleep 2147483647 & wait $!";

/** Takes 6 s to stop, and 8 s to become ready. */
function slowPod(variant: string): object {
  const container = {
    name: "main",
    image: BUSYBOX_1.name,
    command: ["sh", "-c", `(sleep 8; touch /tmp/ready) & ${SLOW_STOP}`, "sh", variant],
    readinessProbe: { exec: { command: ["test", "-f", "/tmp/ready"] }, periodSeconds: 1 },
  };
  return plainPod("slow", variant, { terminationGracePeriodSeconds: 20, containers: [container] });
}

e2e.concurrent(
  "an update goes its way to the end while the broker is dead, and is told afterwards",
  async () => {
    const patient = await healthyPatient(stage, "midway", { resources: [slowPod("midway 1")] });
    const { name, broker, agent, containerd } = patient;
    using unmoved = await Unmoved.from(stage, patient, PODS);
    const [old] = (await runningApps(containerd, name)).filter((one) => one.name === "slow");
    const resources = [plainPod("web", name), plainPod("extra", name), slowPod("midway 2")];
    await publishDesired(broker, name, desired(name, { generation: 2, resources }));
    const since = (): readonly LogLine[] => {
      const lines = agent.logLines();
      const at = lines.findIndex(
        (line) => line.msg === "accepted a desired document" && line["generation"] === 2,
      );
      return at < 0 ? [] : lines.slice(at);
    };
    await eventually("generation 2 is accepted", () => since().length > 0, {
      explain: () => agent.logTail(),
    });
    await broker.stop("SIGKILL");
    const starts = since().filter(({ msg }) => msg === "StartContainer");
    expect(starts).toEqual([]);

    await eventually(
      "the new pod is ready",
      async () => {
        const { stdout } = await agent.cli("get", "pods", "slow");
        if (!stdout.includes("1/1")) throw new Error(stdout);
        const apps = await runningApps(containerd, name);
        return apps.some((one) => one.name === "slow" && one.id !== old?.id);
      },
      { timeout: 60_000, interval: 500, explain: () => agent.logTail(40) },
    );
    await comesBack(patient, { ack: healthy(2) });
    await unmoved.check([...PODS, "slow"]);
    await ends(patient);
  },
  180_000,
);
