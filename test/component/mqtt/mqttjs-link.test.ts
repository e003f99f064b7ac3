import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";

import { AgentError } from "../../../src/lib/errors.ts";
import type { ConnectOptions, MqttMessage, MqttSession } from "../../../src/mqtt/mqtt-link.ts";
import { MqttjsLink } from "../../../src/mqtt/mqttjs-link.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";
import { eventually } from "../../harness/eventually.ts";
import { connecting, probeServers } from "../host/probe-servers.ts";
import { Mosquitto } from "./mosquitto.ts";
import { ScriptedBroker } from "./scripted-broker.ts";

const link = new MqttjsLink(systemClock());
const servers = probeServers();
const never = new AbortController().signal;
let broker: Mosquitto;
let clients = 0;

beforeAll(async () => {
  broker = await Mosquitto.start();
});
afterAll(() => broker[Symbol.asyncDispose]());

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function message(topic: string, text: string, retain = true): MqttMessage {
  return { topic, payload: bytes(text), qos: 1, retain };
}

function optionsOf(more: Partial<ConnectOptions> = {}): ConnectOptions {
  clients += 1;
  const clientId = `client-${clients}`;
  return {
    url: broker.url,
    clientId,
    protocolVersion: 5,
    keepAliveSeconds: 60,
    sessionExpirySeconds: 60,
    connectTimeoutMs: 2000,
    will: { ...message(`${clientId}/will`, "lost"), delaySeconds: 0 },
    ...more,
  };
}

/** A connected client and what it hears. */
class Client {
  readonly heard: MqttMessage[] = [];
  readonly options: ConnectOptions;
  #wake: (() => void) | undefined;

  constructor(more: Partial<ConnectOptions> = {}) {
    this.options = optionsOf(more);
  }

  connect(): Promise<MqttSession> {
    const hear = (heard: MqttMessage): void => {
      this.heard.push(heard);
      this.#wake?.();
    };
    return link.connect(this.options, hear, never);
  }

  /** Resolves when `count` messages have been heard. */
  async hears(count: number): Promise<readonly string[]> {
    while (this.heard.length < count)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.heard.map(({ topic, payload }) => `${topic} ${new TextDecoder().decode(payload)}`);
  }
}

async function failureOf(connecting: Promise<unknown>): Promise<AgentError> {
  try {
    await connecting;
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw error;
  }
  throw new Error("it connected");
}

for (const protocolVersion of [5, 4] as const) {
  describe(`mosquitto, MQTT ${protocolVersion === 5 ? "5" : "3.1.1"}`, () => {
    test("subscribes, publishes, hears retained messages as bytes", async () => {
      const client = new Client({ protocolVersion });
      const session = await client.connect();
      expect(session.ack).toMatchObject({ sessionPresent: false, protocolVersion });
      const topic = `v${protocolVersion}/desired`;
      expect(await session.publish(message(topic, "wanted"))).toBe(0);
      expect(await session.subscribe([topic, "other", "more"])).toEqual([1, 1, 1]);
      expect(await client.hears(1)).toEqual([`${topic} wanted`]);
      expect(client.heard[0]?.retain).toBe(true);
      expect(client.heard[0]?.payload.constructor).toBe(Uint8Array);
      expect(await session.publish({ ...message("x", "q0"), qos: 0 })).toBe(0);
      await session.end();
      expect(await session.ended).toMatchObject({ by: "us" });
    });

    test("hears what waited in its session, although it comes right after CONNACK", async () => {
      const client = new Client({ protocolVersion });
      const first = await client.connect();
      await first.subscribe(["queued"]);
      await first.end();
      const other = await new Client().connect();
      for (const text of ["1", "2", "3"]) await other.publish(message("queued", text, false));
      const second = await client.connect();
      expect(second.ack.sessionPresent).toBe(true);
      expect(await client.hears(3)).toEqual(["queued 1", "queued 2", "queued 3"]);
      await second.end();
      await other.end();
    });

    test("a second client with the same id ends the first session by the broker", async () => {
      const client = new Client({ protocolVersion });
      const first = await client.connect();
      const second = await client.connect();
      expect(await first.ended).toMatchObject({ by: "broker" });
      const late = await failureOf(first.publish(message("x", "late")));
      expect(late.reason).toBe("SessionEnded");
      await second.end();
    });

    test("a clean end drops the will, an abort does not", async () => {
      const watcher = new Client();
      const watching = await watcher.connect();
      const client = new Client({ protocolVersion });
      const willTopic = `${client.options.clientId}/will`;
      await watching.subscribe([willTopic]);
      await (await client.connect()).end();
      const second = await client.connect();
      second.abort();
      expect(await second.ended).toMatchObject({ by: "us" });
      expect(await watcher.hears(1)).toEqual([`${willTopic} lost`]);
      await watching.end();
      expect(watcher.heard).toHaveLength(1);
    });
  });
}

test("an agent on 3.1.1 is not flooded: the stream is cut at the length field", async () => {
  const other = await new Client().connect();
  await other.publish({ ...message("huge", ""), payload: new Uint8Array(300_000).fill(65) });
  const old = new Client({ protocolVersion: 4 });
  const session = await old.connect();
  const subscribing = session.subscribe(["huge"]).catch(() => undefined);
  expect(await session.ended).toMatchObject({ by: "us", code: 0x95 });
  await subscribing;
  const modern = new Client();
  const five = await modern.connect();
  await five.subscribe(["huge", "small"]);
  await other.publish(message("small", "here"));
  expect(await modern.hears(1)).toEqual(["small here"]);
  await five.end();
  await other.publish(message("huge", ""));
  await other.end();
});

test("a stopped broker is noticed by keep-alive, and what waits for it rejects", async () => {
  const frozen = await Mosquitto.start();
  await using _ = frozen;
  const sessions = await Promise.all(
    ([5, 4] as const).map((protocolVersion) =>
      new Client({ url: frozen.url, keepAliveSeconds: 1, protocolVersion }).connect(),
    ),
  );
  frozen.signal("SIGSTOP");
  await Promise.all(
    sessions.map(async (session) => {
      const publishing = failureOf(session.publish(message("x", "y")));
      const subscribing = failureOf(session.subscribe(["x"]));
      expect(await session.ended).toMatchObject({ by: "network", message: "Keepalive timeout" });
      expect((await publishing).reason).toBe("SessionEnded");
      expect((await subscribing).reason).toBe("SessionEnded");
    }),
  );
  const refused = new Client({ url: frozen.url, connectTimeoutMs: 100 });
  expect(await failureOf(refused.connect())).toMatchObject({ reason: "ConnectFailed" });
});

test("a broker that restarts ends the session; the next one finds its subscriptions", async () => {
  const restarted = await Mosquitto.start();
  await using _ = restarted;
  const client = new Client({ url: restarted.url });
  const session = await client.connect();
  await session.subscribe(["kept"]);
  const ended = session.ended;
  await restarted.stop();
  expect(await ended).toMatchObject({ by: "broker" });
  const refused = await failureOf(client.connect());
  expect(refused.reason).toBe("ConnectFailed");
  expect(refused.message).toContain("ECONNREFUSED");
  await restarted.start();
  const again = await client.connect();
  expect(again.ack.sessionPresent).toBe(true);
  await again.publish(message("kept", "here", false));
  expect(await client.hears(1)).toEqual(["kept here"]);
  await again.end();
});

test("a refusing broker is ConnectRefused with the code, without the password", async () => {
  const closed = await Mosquitto.start(["allow_anonymous false"]);
  await using _ = closed;
  for (const [protocolVersion, code] of [
    [5, "0x87"],
    [4, "0x05"],
  ] as const) {
    const url = closed.url.replace("//", "//user:secret@");
    const client = new Client({ url, protocolVersion, password: "secret" });
    const error = await failureOf(client.connect());
    expect(error.reason).toBe("ConnectRefused");
    expect(error.message).toContain(code);
    expect(error.message).not.toContain("secret");
  }
});

describe("TLS", () => {
  // Self-signed for 127.0.0.1: the broker's certificate, the CA of both sides, and the client's certificate.
  const directory = join(import.meta.dir, "../../fixtures/tls");
  const pem = (name: string): string => readFileSync(join(directory, name), "utf8");

  test("speaks to the broker it can verify with a certificate of its own, and to no other", async () => {
    const secure = await Mosquitto.start([
      "allow_anonymous true",
      `cafile ${directory}/broker.pem`,
      `certfile ${directory}/broker.pem`,
      `keyfile ${directory}/broker.key`,
      "require_certificate true",
    ]);
    await using _ = secure;
    const url = secure.url.replace("mqtt:", "mqtts:");
    const files = { ca: pem("broker.pem"), cert: pem("broker.pem"), key: pem("broker.key") };
    const session = await new Client({ url, ...files }).connect();
    expect(await session.publish(message("x", "y"))).toBe(0);
    await session.end();
    const { cert, key } = files;
    const unknown = await failureOf(new Client({ url, cert, key }).connect());
    expect(unknown.reason).toBe("ConnectFailed");
    expect(unknown.message).toMatch(/certificate/i);
    const nobody = await failureOf(new Client({ url, ca: files.ca }).connect());
    expect(nobody.reason).toBe("ConnectFailed");
  });
});

describe("a broker that says", () => {
  const refusals: Record<string, readonly [5 | 4, readonly number[], string]> = {
    "unsupported version in MQTT 5": [5, [0x20, 3, 0, 0x84, 0], "ProtocolUnsupported"],
    "unsupported version in 3.1.1, asked in 5": [5, [0x20, 2, 0, 1], "ProtocolUnsupported"],
    rubbish: [5, [0xff, 0xff, 0xff], "ConnectFailed"],
    "a CONNACK of a gigabyte": [4, [0x20, 0xff, 0xff, 0xff, 0x7f], "ConnectFailed"],
  };
  test.each(Object.entries(refusals))("%s", async (_, [protocolVersion, answer, reason]) => {
    using scripted = new ScriptedBroker(() => answer);
    const client = new Client({ url: scripted.url, protocolVersion });
    expect((await failureOf(client.connect())).reason).toBe(reason);
  });

  test("nothing is given up after the connect timeout, and at once when stopped", async () => {
    using scripted = new ScriptedBroker(() => []);
    const options = optionsOf({ url: scripted.url, connectTimeoutMs: 100 });
    const slow = await failureOf(link.connect(options, () => undefined, never));
    expect(slow).toMatchObject({ reason: "ConnectFailed" });
    const stop = new AbortController();
    const patient = optionsOf({ url: scripted.url, connectTimeoutMs: 60_000 });
    const stopped = failureOf(link.connect(patient, () => undefined, stop.signal));
    stop.abort();
    expect((await stopped).message).toContain("stopped");
  });

  test("an attempt that is given up ends with a reset: a broker that accepts it late must not read its CONNECT", async () => {
    const ends: string[] = [];
    const server = createServer((socket) => {
      socket.once("data", () => ends.push("CONNECT"));
      socket.once("end", () => ends.push("FIN"));
      socket.once("error", (error: NodeJS.ErrnoException) => ends.push(error.code ?? "error"));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const options = optionsOf({ url, connectTimeoutMs: 100 });
    const slow = await failureOf(link.connect(options, () => undefined, never));
    expect(slow.message).toContain("no CONNACK within 0.1 s");
    await eventually("the connection is closed", () => ends.length >= 2);
    expect(ends).toEqual(["CONNECT", "ECONNRESET"]);
    server.close();
  });

  test("an attempt that is given up before its connection leaves none behind", async () => {
    const port = await servers.deaf();
    const before = connecting(port);
    const url = `mqtt://127.0.0.1:${port}`;
    await failureOf(new Client({ url, connectTimeoutMs: 100 }).connect());
    expect(connecting(port)).toBe(before);
  });

  test("Session taken over ends the session with its code", async () => {
    using scripted = new ScriptedBroker((packet) => {
      if (packet === "CONNECT") return [0x20, 3, 0, 0, 0];
      return packet === "PUBLISH" ? [0xe0, 2, 0x8e, 0] : [];
    });
    const session = await new Client({ url: scripted.url }).connect();
    const publishing = failureOf(session.publish(message("x", "y")));
    expect(await session.ended).toMatchObject({ by: "broker", code: 0x8e });
    expect((await publishing).reason).toBe("SessionEnded");
  });

  test("rubbish after CONNACK ends the session", async () => {
    using scripted = new ScriptedBroker((packet) =>
      packet === "CONNECT" ? [0x20, 3, 0, 0, 0] : [0xf1, 0xff, 0xff],
    );
    const session = await new Client({ url: scripted.url }).connect();
    void session.publish(message("x", "y")).catch(() => undefined);
    expect((await session.ended).by).toBe("network");
  });

  test("no to a publish or a filter gives the code, not an exception, with its limits in CONNACK", async () => {
    using scripted = new ScriptedBroker((packet, bytesOf) => {
      // Receive Maximum 5, Maximum QoS 1, Retain Available 0, Maximum Packet Size 1000.
      const limits = [0x21, 0, 5, 0x24, 1, 0x25, 0, 0x27, 0, 0, 0x03, 0xe8];
      if (packet === "CONNECT") return [0x20, 3 + limits.length, 0, 0, limits.length, ...limits];
      const [high = 0, low = 0] = packet === "PUBLISH" ? bytesOf.subarray(5) : bytesOf.subarray(2);
      if (packet === "PUBLISH") return [0x40, 3, high, low, 0x87];
      return packet === "SUBSCRIBE" ? [0x90, 5, high, low, 0, 0x01, 0x87] : [];
    });
    const session = await new Client({ url: scripted.url }).connect();
    expect(session.ack).toEqual({
      sessionPresent: false,
      receiveMaximum: 5,
      maximumQos: 1,
      retainAvailable: false,
      maximumPacketSize: 1000,
      protocolVersion: 5,
    });
    expect(await session.publish(message("x", "y"))).toBe(0x87);
    expect(await session.subscribe(["a", "b"])).toEqual([1, 0x87]);
    await session.end();
  });

  test("goodbye is sent although PUBACKs are missing", async () => {
    using scripted = new ScriptedBroker((packet) =>
      packet === "CONNECT" ? [0x20, 3, 0, 0, 0] : [],
    );
    const session = await new Client({ url: scripted.url }).connect();
    const publishing = failureOf(session.publish(message("x", "y")));
    await session.end();
    expect((await publishing).reason).toBe("SessionEnded");
    expect(scripted.packets).toEqual(["CONNECT", "PUBLISH", "DISCONNECT"]);
  });
});

test("CONNECT says what the contract asks for, and no user property", async () => {
  using scripted = new ScriptedBroker(() => [0x20, 3, 0, 0, 0]);
  const url = `${scripted.url}/?clientId=somebody`;
  const client = new Client({ url, keepAliveSeconds: 77 });
  const session = await client.connect();
  const [connect = new Uint8Array()] = scripted.raw;
  expect(new TextDecoder().decode(connect)).toContain(client.options.clientId);
  expect(new TextDecoder().decode(connect)).not.toContain("somebody");
  // After the fixed header (2 bytes here) and "MQTT": version, flags (will retained, QoS 1; no clean start), keep-alive.
  expect([...connect.subarray(8, 12)]).toEqual([5, 0b0010_1100, 0, 77]);
  const properties = [0x11, 0, 0, 0, 60, 0x21, 0, 16, 0x27, 0, 4, 0, 0];
  expect([...connect.subarray(12, 13 + properties.length)]).toEqual([
    properties.length,
    ...properties,
  ]);
  session.abort();
});
