// What a broker may do to whoever trusts it: bounded memory, an end of the session, never an exception.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";

import { messageOf } from "../../../src/lib/errors.ts";
import type { MqttMessage } from "../../../src/mqtt/mqtt-link.ts";
import { FrameBroker } from "./frame-broker.ts";
import { connectTo, outcome } from "./link-client.ts";
import { Mosquitto } from "./mosquitto.ts";
import type { PacketType } from "./packet-types.ts";
import { ScriptedBroker } from "./scripted-broker.ts";

const CONNACK = [0x20, 3, 0, 0, 0];
const DISCONNECT = [0xe0, 0];

/** The bytes of a PUBLISH of QoS 0 in MQTT 5. */
function publish(
  topic: readonly number[],
  payload: readonly number[],
  flags = 0,
): readonly number[] {
  const id = flags === 0 ? [] : [0, 1];
  const body = [topic.length >> 8, topic.length & 0xff, ...topic, ...id, 0, ...payload];
  return [0x30 | flags, ...lengthField(body.length), ...body];
}

function lengthField(length: number): readonly number[] {
  return length < 128 ? [length] : [(length & 0x7f) | 0x80, ...lengthField(length >> 7)];
}

const ascii = (text: string): readonly number[] => [...new TextEncoder().encode(text)];

/** A session with a broker that says `more` right behind CONNACK, and what was heard. */
async function told(more: readonly number[]): Promise<{
  readonly heard: readonly MqttMessage[];
  readonly end: string;
}> {
  using broker = new ScriptedBroker((packet) =>
    packet === "CONNECT" ? [...CONNACK, ...more] : [],
  );
  const heard: MqttMessage[] = [];
  const connecting = connectTo(broker.url, { keepAliveSeconds: 1 }, (one) => heard.push(one));
  try {
    const { by, message } = await (await connecting).ended;
    return { heard, end: `${by}: ${message}` };
  } catch (error) {
    // What cannot be parsed may be seen before CONNACK was handed on.
    return { heard, end: messageOf(error) };
  }
}

describe("right behind CONNACK", () => {
  test("a topic that is no UTF-8 is no topic of ours, and what follows is heard", async () => {
    const { heard } = await told([
      ...publish([0xff, 0xfe, 0xc3, 0x28], ascii("rubbish")),
      ...publish(ascii("good"), ascii("news")),
      ...DISCONNECT,
    ]);
    expect(heard.map(({ topic }) => topic).at(-1)).toBe("good");
    for (const { topic } of heard.slice(0, -1)) expect(topic).toMatch(/\uFFFD/);
  });

  test("a message of QoS 2 ends the session: each would be kept until its PUBREL", async () => {
    const { heard, end } = await told(publish(ascii("x"), ascii("y"), 0b100));
    expect(heard).toEqual([]);
    expect(end).toBe("us: the broker sent a packet of QoS 2");
  });

  test("PUBREL without end ends the session: each would be answered", async () => {
    const { end } = await told(Array.from({ length: 1000 }, () => [0x62, 2, 0, 1]).flat());
    expect(end).toBe("us: the broker sent a packet of QoS 2");
  });

  test("a packet cut in the middle waits for its rest until keep-alive ends the session", async () => {
    const whole = publish(ascii("x"), ascii("0123456789"));
    const { heard, end } = await told(whole.slice(0, -4));
    expect(heard).toEqual([]);
    expect(end).toBe("network: Keepalive timeout");
  });

  const endings: Readonly<Record<string, readonly number[]>> = {
    "a second CONNACK": CONNACK,
    "AUTH that nobody asked for": [0xf0, 2, 0x18, 0],
    "a topic alias that was never allowed": [0x30, 7, 0, 1, 0x78, 3, 0x23, 0, 1],
    "a packet type that does not exist": [0x00, 0],
    "a length field of five bytes": [0x30, 0xff, 0xff, 0xff, 0xff, 0x7f],
    "a PUBLISH shorter than its topic": [0x30, 3, 0, 200, 0x61],
    "DISCONNECT with a server to go to": [0xe0, 8, 0x9d, 6, 0x1c, 0, 3, 0x65, 0x76, 0x6c],
  };
  test.each(Object.entries(endings))("%s ends the session", async (_, more) => {
    const { heard, end } = await told(more);
    expect(heard).toEqual([]);
    expect(end).not.toContain("Keepalive");
  });

  test("answers to questions nobody asked change nothing", async () => {
    const strays = [0x40, 2, 0x12, 0x34, 0x90, 4, 0x12, 0x35, 0, 0, 0xd0, 0];
    const { heard } = await told([
      ...strays,
      ...publish(ascii("good"), ascii("news")),
      ...DISCONNECT,
    ]);
    expect(heard).toHaveLength(1);
  });
});

describe("WebSocket frames", () => {
  test("are not compressed: a few bytes would inflate to megabytes", async () => {
    using broker = new FrameBroker([]);
    await outcome(connectTo(broker.url));
    expect(broker.request).toContain("Upgrade: websocket");
    expect(broker.request.toLowerCase()).not.toContain("permessage-deflate");
  });

  const receiveRate = { burst: 100, perSecond: 1 };

  /** How the session ends when `count` of a frame follow CONNACK. */
  async function endOf(
    frame: readonly number[],
    count: number,
    before: readonly number[] = [],
  ): Promise<string> {
    const frames = Array.from({ length: count }, () => frame).flat();
    using broker = new FrameBroker([...before, ...frames]);
    try {
      return (await (await connectTo(broker.url, { receiveRate })).ended).message;
    } catch (error) {
      // The flood may be over before CONNACK was handed on.
      return messageOf(error);
    }
  }

  const frames: Readonly<Record<string, readonly number[]>> = {
    "empty messages": [0x82, 0],
    "empty texts": [0x81, 0],
    pings: [0x89, 1, 0x78],
    pongs: [0x8a, 0],
  };
  test.each(Object.entries(frames))("a flood of %s ends the session", async (_, frame) => {
    const most = "the broker sent more than 100 WebSocket frames at once and 1 a second";
    expect(await endOf(frame, 200)).toContain(most);
    expect(await endOf(frame, 50)).not.toContain("sent more than");
  });

  test("a flood of empty fragments of one message ends the session", async () => {
    const start = [0x02, 1, 0x30];
    const most = "the broker sent more than 100 WebSocket frames at once and 1 a second";
    expect(await endOf([0, 0], 200, start)).toContain(most);
    expect(await endOf([0, 0], 50, start)).not.toContain("sent more than");
  });

  test("a flood of messages of one byte of a packet ends the session", async () => {
    const start = [0x82, 4, 0x30, 0xff, 0xff, 0x0e];
    const answer = await endOf([0x82, 1, 0x78], 200, start);
    expect(answer).toMatch(/sent more than 100 (pieces of packets|WebSocket frames) at once/);
    expect(await endOf([0x82, 1, 0x78], 50, start)).not.toContain("sent more than");
  });
});

describe("a SUBACK", () => {
  const wrong: Readonly<Record<string, readonly number[]>> = {
    "with too few codes": [0],
    "with too many codes": [0, 0, 0, 0],
    "without any code": [],
  };
  test.each(Object.entries(wrong))("%s is no answer", async (_, codes) => {
    using broker = new ScriptedBroker((packet, bytes) => {
      if (packet === "CONNECT") return CONNACK;
      const [high = 0, low = 0] = bytes.subarray(2);
      return packet === "SUBSCRIBE" ? [0x90, 3 + codes.length, high, low, 0, ...codes] : [];
    });
    const session = await connectTo(broker.url);
    const failed = await session.subscribe(["a", "b", "c"]).then(
      () => "it was taken",
      (error: unknown) => String(error),
    );
    expect(failed).toContain("AgentError");
    session.abort();
  });
});

describe("a CONNACK", () => {
  function connack(properties: readonly number[]): (packet: PacketType) => readonly number[] {
    const answer = [0x20, 3 + properties.length, 0, 0, properties.length, ...properties];
    return (packet) => (packet === "CONNECT" ? answer : []);
  }

  test("with a Server Keep Alive is obeyed", async () => {
    using broker = new ScriptedBroker(connack([0x13, 0, 1]));
    const session = await connectTo(broker.url, { keepAliveSeconds: 600 });
    expect(await session.ended).toMatchObject({ message: "Keepalive timeout" });
    expect(broker.packets).toEqual(["CONNECT", "PINGREQ"]);
  });

  test("with a Server Keep Alive of 0 does not stop us from looking", async () => {
    using broker = new ScriptedBroker(connack([0x13, 0, 0]));
    const session = await connectTo(broker.url, { keepAliveSeconds: 1 });
    expect(await session.ended).toMatchObject({ message: "Keepalive timeout" });
  });

  const odd: Readonly<Record<string, readonly number[]>> = {
    "an Assigned Client Identifier": [0x12, 0, 3, 0x65, 0x76, 0x6c],
    "a Receive Maximum of 0": [0x21, 0, 0],
    "a Maximum Packet Size of 1": [0x27, 0, 0, 0, 1],
    "a Maximum QoS of 7": [0x24, 7],
    "a Topic Alias Maximum": [0x22, 0xff, 0xff],
    "a user property, a reason and a server": [
      0x26, 0, 1, 0x61, 0, 1, 0x62, 0x1f, 0, 1, 0x63, 0x1c, 0, 1, 0x64,
    ],
    "a property that does not exist": [0x7e, 1],
    "the same property twice": [0x21, 0, 5, 0x21, 0, 6],
  };
  test.each(Object.entries(odd))("with %s throws nothing", async (_, properties) => {
    using broker = new ScriptedBroker(connack(properties));
    const answer = await outcome(connectTo(broker.url, { connectTimeoutMs: 500 }));
    expect(answer).toMatch(/^(connected|ConnectFailed: )/);
  });
});

test.each([
  ["retain_available false", "RetainUnsupported", "0x9a"],
  ["max_qos 0", "QosUnsupported", "0x9b"],
])("mosquitto with %s names what the will asks too much", async (line, reason, code) => {
  await using broker = await Mosquitto.start(["allow_anonymous true", line]);
  const answer = await outcome(connectTo(broker.url));
  expect(answer).toStartWith(`${reason}: `);
  expect(answer).toContain(code);
});

describe("memory", () => {
  interface Told {
    readonly messages: number;
    readonly bytes: number;
    readonly grewMiB: number;
    readonly end: { readonly by: string; readonly message: string };
  }

  /** Floods a process of its own once it has subscribed, and gives what it says at its end. */
  async function flooded(url: string, version: 4 | 5, flood: () => Promise<void>): Promise<Told> {
    const command = [process.execPath, join(import.meta.dir, "flood-child.ts"), url];
    const child = Bun.spawn([...command, String(version)], { stdin: "pipe", stdout: "pipe" });
    let said = "";
    let started: Promise<void> | undefined;
    for await (const chunk of child.stdout) {
      said += new TextDecoder().decode(chunk);
      if (said.includes("subscribed")) started ??= flood().then(() => void child.stdin.end());
    }
    const told = JSON.parse(said.split("\n").at(-2) ?? "") as Told;
    console.log(`MQTT ${version}: grew by ${told.grewMiB} MiB; ${told.messages} messages`);
    return told;
  }

  async function publisher(url: string): Promise<(payload: Uint8Array) => Promise<number>> {
    const session = await connectTo(url, { clientId: "flooder" });
    return (payload) => session.publish({ topic: "flood", payload, qos: 1, retain: false });
  }

  test("is not what 10,000 messages cost", async () => {
    await using broker = await Mosquitto.start(["allow_anonymous true", "max_queued_messages 0"]);
    const say = await publisher(broker.url);
    const told = await flooded(broker.url, 5, async () => {
      const payload = new Uint8Array(4_096).fill(0x5b);
      for (let sent = 0; sent < 10_000; sent += 100)
        await Promise.all(Array.from({ length: 100 }, () => say(payload)));
      await Bun.sleep(300);
    });
    expect(told.messages).toBe(10_000);
    expect(told.grewMiB).toBeLessThan(64);
  }, 20_000);

  test.each([5, 4] as const)(
    "is not what a message of 10 MB costs (version %d)",
    async (version) => {
      const chunk = new Uint8Array(64 * 1024);
      let written = 0;
      const listener = Bun.listen<{ connected: boolean }>({
        hostname: "127.0.0.1",
        port: 0,
        socket: {
          open: (socket) => void (socket.data = { connected: false }),
          data: (socket, bytes) => {
            if ((bytes[0] ?? 0) >> 4 === 1) {
              socket.write(new Uint8Array(version === 5 ? CONNACK : [0x20, 2, 0, 0]));
              return;
            }
            // The subscription's answer is a PUBLISH of ten megabytes.
            socket.write(
              new Uint8Array([0x30, ...lengthField(10_000_000), 0, 5, ...ascii("flood")]),
            );
            written += socket.write(chunk);
          },
          drain: (socket) => {
            if (written < 10_000_000) written += socket.write(chunk);
          },
        },
      });
      const told = await flooded(
        `mqtt://127.0.0.1:${listener.port}`,
        version,
        async () => undefined,
      );
      listener.stop(true);
      expect(told.messages).toBe(0);
      expect(told.end.message).toMatch(/^(a packet of 10000005 bytes is over 262144)?$/);
      expect(told.grewMiB).toBeLessThan(16);
    },
  );

  test("is not what a WebSocket message of 10 MB costs", async () => {
    let hasAnswered = false;
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request, self) => {
        const headers = { "Sec-WebSocket-Protocol": "mqtt" };
        return self.upgrade(request, { headers }) ? undefined : new Response("", { status: 400 });
      },
      websocket: {
        message: (socket) => {
          if (hasAnswered) return;
          hasAnswered = true;
          socket.sendBinary(new Uint8Array(CONNACK));
          // Small packets without end in one message: none of them is over the limit.
          socket.sendBinary(
            Uint8Array.from({ length: 10_000_000 }, (_, at) => (at % 2 === 0 ? 0xd0 : 0)),
          );
        },
      },
    });
    const session = await connectTo(`ws://127.0.0.1:${server.port}/mqtt`);
    expect((await session.ended).message).toContain("payload size exceeded");
    await server.stop(true);
  });
});
