// The page of the fleet with a real mosquitto that goes and comes back, and with a fleet.yaml.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { systemClock } from "../../../src/lib/system-clock.ts";
import { startBroker, type Broker } from "../../harness/broker.ts";
import { BrokerClient } from "../../harness/broker-client.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";
import { startFleetUi } from "./fleet-ui.ts";

const temp = makeTempDirectory();
const clock = systemClock();
const stop = new AbortController();
const ended: Promise<0>[] = [];
let broker: Broker;
let client: BrokerClient;

beforeAll(async () => {
  broker = await startBroker(temp);
  client = await BrokerClient.connect(broker.url);
  await state("pi-1", "online");
}, 120_000);

afterAll(async () => {
  stop.abort();
  await Promise.all(ended);
  await client[Symbol.asyncDispose]();
  await broker.stop();
  temp[Symbol.dispose]();
});

function state(node: string, word: string): Promise<void> {
  const message = { state: word, incarnation: "i1", session: 1, agent: "1.2.3", protocol: 1 };
  return client.publish(`agent/v1/node/${node}/state`, message, { retain: true });
}

/** What the stream of a page sends until `wanted`. */
type Reader = (wanted: RegExp) => Promise<string>;

async function openPage(flags: { readonly nodes?: string } = {}): Promise<Reader> {
  const options = { clock, directory: temp.path, flags: { ...flags, url: broker.url } };
  const { origin, token, ended: running } = await startFleetUi(options, stop.signal);
  ended.push(running);
  const answer = await fetch(`${origin}/api/nodes`, {
    headers: { authorization: `Bearer ${token}` },
    signal: stop.signal,
  });
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  return async (wanted) => {
    while (!wanted.test(text)) {
      const part: { readonly value?: Uint8Array | undefined } | undefined = await reader?.read();
      if (part?.value === undefined) throw new Error(`ended without ${wanted}: ${text}`);
      text += decoder.decode(part.value, { stream: true });
    }
    const seen = text;
    text = "";
    return seen;
  };
}

test("a page says that the broker is away, keeps its rows, and follows again", async () => {
  await state("pi-2", "online");
  const read = await openPage();
  await read(/"name":"pi-2","state":"online"/);
  await broker.stop();
  const away = await read(/"isAway":true/);
  expect(away).not.toContain('"removed":["pi');
  await broker.start();
  const back = await read(/"isAway":false/);
  expect(back).not.toContain('"removed":["pi');
  await state("pi-2", "lost");
  await read(/"name":"pi-2","state":"lost"/);
}, 120_000);

test("a page forgets what went while the broker was away", async () => {
  await state("pi-3", "online");
  const read = await openPage();
  await read(/"name":"pi-3"/);
  await broker.stop();
  await read(/"isAway":true/);
  await broker.start();
  await client.publish("agent/v1/node/pi-3/state", "", { retain: true });
  await read(/"removed":\["pi-3"\]/);
}, 120_000);

test("with a fleet.yaml a group is shown that a node reports first while the page is open", async () => {
  const file = join(temp.path, "fleet.yaml");
  writeFileSync(file, "nodes: [pi-1]\n");
  const document = {
    apiVersion: "agent/v1",
    kind: "DesiredState",
    target: { group: "late" },
    generation: 4,
    resources: [],
    allowEmpty: true,
  };
  await client.publish("agent/v1/group/late/desired", document, { retain: true });
  const read = await openPage({ nodes: file });
  const before = await read(/"name":"pi-1"/);
  expect(before).not.toContain('"group":"late"');
  const ack = { source: "group/late", epoch: "", generation: 4, phase: "Healthy", code: 200 };
  const report = { kind: "ReportedState", time: "2026-11-21T07:59:00Z", desired: [ack], pods: [] };
  await client.publish("agent/v1/node/pi-1/reported", report, { retain: true });
  await read(/"rollouts":\[\{[^\]]*"group":"late"/);
}, 120_000);
