// A prepared image on two cards, and a card that was copied after its first start: devices that share a broker.

import { deepStrictEqual, notStrictEqual, ok, strictEqual } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { stringify } from "yaml";

import { startBroker, type Broker } from "../../harness/broker.ts";
import { eventually } from "../../harness/eventually.ts";
import { Device } from "../device.ts";
import { HOST } from "../emulator.ts";
import { sleeper } from "../pods.ts";
import type { Scenario, Stage } from "../scenario.ts";

/** Of the base image; without a `nodeName` the node is called so. */
const HOSTNAME = "device";
const CARD = "boot/firmware/agent/manifests";
const SLOW = 900_000;
const SLOW_SECONDS = 900;

export const preparedImage: Scenario = {
  name: "prepared-image",
  about:
    "one prepared image in two devices is two nodes at the broker, each with the pod of its own card; of a card copied after its first start both devices show DuplicateIdentity, and all pods run",
  run: async (stage) => {
    const broker = await startBroker(stage.temp);
    try {
      const golden = await goldenImage(stage, broker);
      const castor = await copyOf(golden, stage, "castor");
      const pollux = await copyOf(golden, stage, "pollux");
      await twoNodes([castor, pollux], stage, broker);
      await pollux.guest.powerOff();
      await castor.guest.powerOff();
      await oneIdentity(castor, stage);
    } finally {
      await broker.stop();
    }
  },
};

async function goldenImage(stage: Stage, broker: Broker): Promise<Device> {
  const golden = await Device.flash(stage, {
    name: "golden",
    uplink: true,
    config: `mqtt: {url: 'mqtt://${HOST}:${broker.port}'}\n`,
    manifests: { "golden.yaml": [sleeper("golden")] },
  });
  await golden.guest.start();
  await golden.waitReady(["golden"]);
  await online(broker, HOSTNAME);
  await golden.guest.sh("agent shutdown && systemctl stop agent", SLOW_SECONDS);
  const said = await golden.guest.sh("agent prepare-image --machine-id --yes", SLOW_SECONDS);
  ok(said.includes("the image is prepared"), said);
  await golden.guest.powerOff();
  stage.say("the image is prepared");
  return golden;
}

/** Not started yet; its card holds a pod of its name. */
async function copyOf({ guest }: Device, stage: Stage, name: string): Promise<Device> {
  const copy = await Device.make(stage, { name, uplink: true, copyOf: guest });
  await copy.withDisk(stage.temp.directory(`${name}/root`), (root) => {
    mkdirSync(join(root, CARD), { recursive: true });
    writeFileSync(join(root, CARD, `${name}.yaml`), stringify(sleeper(name)));
    return Promise.resolve();
  });
  return copy;
}

async function twoNodes(
  [castor, pollux]: readonly [Device, Device],
  stage: Stage,
  broker: Broker,
): Promise<void> {
  await Promise.all([castor.guest.start(), pollux.guest.start()]);
  await Promise.all([
    castor.waitReady(["castor", "golden"]),
    pollux.waitReady(["golden", "pollux"]),
  ]);
  deepStrictEqual(await castor.runningPods(), ["castor", "golden"]);
  deepStrictEqual(await pollux.runningPods(), ["golden", "pollux"]);
  const nodes = [await nodeOf(castor), await nodeOf(pollux)] as const;
  const names = nodes.map(({ metadata: { name } }) => name);
  stage.note("nodes of one prepared image", names.join(" and "));
  for (const name of names) {
    ok(name.startsWith(`${HOSTNAME}-`), `${name} has a suffix`);
    await online(broker, name);
  }
  notStrictEqual(names[0], names[1]);
  for (const node of nodes) notStrictEqual(duplicate(node), "True");
  const ids = await Promise.all([castor, pollux].map(machineId));
  notStrictEqual(ids[0], ids[1]);
}

/** Two devices with one card, as it was after its first start. */
async function oneIdentity(castor: Device, stage: Stage): Promise<void> {
  const twin = await Device.make(stage, { name: "twin", uplink: true, copyOf: castor.guest });
  await Promise.all([castor.guest.start(), twin.guest.start()]);
  for (const device of [castor, twin]) {
    await device.waitReady(["castor", "golden"]);
    await eventually(
      "the device shows DuplicateIdentity",
      async () => duplicate(await nodeOf(device)) === "True",
      { timeout: SLOW, interval: 10_000 },
    );
  }
  const [one, other] = [await nodeOf(castor), await nodeOf(twin)];
  strictEqual(one.metadata.name, other.metadata.name);
  for (const device of [castor, twin]) {
    deepStrictEqual(await device.runningPods(), ["castor", "golden"]);
    await device.guest.powerOff();
  }
}

interface Node {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
  };
}

async function nodeOf({ guest }: Device): Promise<Node> {
  const listed = JSON.parse(await guest.sh("agent get node -o json", SLOW_SECONDS)) as {
    readonly items: readonly Node[];
  };
  const [node] = listed.items;
  if (node === undefined) throw new Error("the agent shows no node");
  return node;
}

function duplicate({ status: { conditions } }: Node): string | undefined {
  return conditions.find(({ type }) => type === "DuplicateIdentity")?.status;
}

async function machineId({ guest }: Device): Promise<string> {
  return guest.sh("cat /etc/machine-id");
}

async function online(broker: Broker, node: string): Promise<void> {
  await using client = await broker.client();
  const topic = `agent/v1/node/${node}/state`;
  const isOnline = async (): Promise<boolean> =>
    (await client.retained(topic))?.includes("online") === true;
  await eventually(`${node} is online at the broker`, isOnline, { timeout: SLOW, interval: 5_000 });
}
