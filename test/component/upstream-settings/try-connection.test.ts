// The trial of a connection with the real MQTT library: against mosquitto with TLS and with an access list, and against
// brokers that answer what mosquitto never does.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { MqttConfig } from "../../../src/config/mqtt-config.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { reasonOf } from "../../../src/lib/errors.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";
import { MqttjsLink } from "../../../src/mqtt/mqttjs-link.ts";
import { subscriptionsFor } from "../../../src/protocol/mqtt-topics.ts";
import { tryConnection } from "../../../src/upstream/settings/try-connection.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { startBroker, type Broker } from "../../harness/broker.ts";
import { CertificateAuthority } from "../../harness/certificates.ts";
import { eventually } from "../../harness/eventually.ts";
import { makeTempDirectory } from "../../harness/temp-directory.ts";
import { ScriptedBroker } from "../mqtt/scripted-broker.ts";

const temp = makeTempDirectory();
const TOPIC = "agent/v1/node/pi-1/reported";
const CONNACK = [0x20, 3, 0, 0, 0];
const brokers: Broker[] = [];
const pem = { own: "", foreign: "" };
let open: Broker;
let secure: Broker;
let silent: Broker;

beforeAll(async () => {
  const directory = temp.directory("certificates");
  const ca = new CertificateAuthority(directory);
  pem.own = readFileSync(ca.cert, "utf8");
  pem.foreign = readFileSync(new CertificateAuthority(directory, "foreign").cert, "utf8");
  const { cert, key } = ca.issue("broker", "broker", { altName: "IP:127.0.0.1" });
  const acl = join(directory, "silent.acl");
  writeFileSync(acl, "topic read #\n");
  open = await startBroker(temp, { name: "open" });
  secure = await startBroker(temp, {
    name: "secure",
    listener: ["allow_anonymous true", `certfile ${cert}`, `keyfile ${key}`],
  });
  silent = await startBroker(temp, { name: "silent", extra: [`acl_file ${acl}`] });
  brokers.push(open, secure, silent);
}, 60_000);

afterAll(async () => {
  await Promise.all(brokers.map((broker) => broker.stop()));
  temp.remove();
});

function configOf(more: Partial<MqttConfig>): MqttConfig {
  return {
    url: open.url,
    topicRoot: "agent/v1",
    keepAliveSeconds: 60,
    reconnectMaxMs: 1000,
    podStatus: "retained",
    protocolVersion: 5,
    profile: "normal",
    requireSignature: false,
    requireDigest: false,
    ...more,
  };
}

/** How the trial ends: its reason, or undefined = the broker has answered everything. */
async function tried(
  more: Partial<MqttConfig>,
  clock: Clock = systemClock(),
): Promise<string | undefined> {
  const edges = { clock, files: realFiles(), mqtt: new MqttjsLink(clock) };
  const payload = new TextEncoder().encode('{"kind": "ReportedState"}');
  const report = { topic: TOPIC, payload, qos: 1, retain: true } as const;
  const filters = subscriptionsFor("agent/v1", "pi-1", ["kiosks", "doors", "signs"]);
  const options = { edges, config: configOf(more), clientId: "pi-1", filters, report };
  try {
    await tryConnection(options, new AbortController().signal);
    return undefined;
  } catch (error) {
    return reasonOf(error, String(error));
  }
}

describe("a broker that works", () => {
  test("answers everything, and has the report", async () => {
    expect(await tried({})).toBeUndefined();
    const client = await open.client();
    expect(await client.retainedJSON(TOPIC)).toEqual({ kind: "ReportedState" });
    await client[Symbol.asyncDispose]();
  });

  test("is found by the second address, where the first one is dead", async () => {
    const url = "mqtt://127.0.0.1:1";
    expect(await tried({ url, alternateUrls: [open.url] })).toBeUndefined();
    expect(await tried({ url })).toBe("ConnectFailed");
  });

  test("with TLS is trusted by the CA of the settings, and by no other", async () => {
    const { url } = secure;
    expect(await tried({ url, ca: pem.own })).toBeUndefined();
    expect(await tried({ url, ca: `${pem.foreign}${pem.own}` })).toBeUndefined();
    expect(await tried({ url, ca: pem.foreign })).toBe("CertificateRefused");
  });

  test("but lets the node publish nothing is refused", async () => {
    expect(await tried({ url: silent.url })).toBe("ReportRefused");
  });
});

describe("a broker that answers otherwise", () => {
  test("refuses one of the subscriptions", async () => {
    using broker = new ScriptedBroker((packet, bytes) => {
      if (packet === "CONNECT") return CONNACK;
      if (packet !== "SUBSCRIBE") return [];
      const [high = 0, low = 0] = bytes.subarray(
        bytes[1] !== undefined && bytes[1] >= 0x80 ? 3 : 2,
      );
      return [0x90, 11, high, low, 0, 1, 1, 1, 0x87, 1, 1, 1, 1];
    });
    expect(await tried({ url: broker.url })).toBe("SubscribeRefused");
  });

  test("hangs after CONNACK", async () => {
    using broker = new ScriptedBroker((packet) => (packet === "CONNECT" ? CONNACK : []));
    const clock = new VirtualClock();
    let end: string | undefined;
    void tried({ url: broker.url }, clock).then((reason) => (end = reason));
    await eventually("it is asked", () => broker.packets.includes("SUBSCRIBE"));
    // Thirty seconds for the answer, two for the farewell.
    await eventually("it is left", async () => {
      await clock.advance(32_000);
      return end !== undefined;
    });
    expect(end).toBe("NoAnswer");
  });

  test("refuses CONNECT", async () => {
    using broker = new ScriptedBroker(() => [0x20, 3, 0, 0x87, 0]);
    expect(await tried({ url: broker.url })).toBe("ConnectRefused");
  });
});
