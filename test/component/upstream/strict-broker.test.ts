// The strict broker notices every breach: one small client for each rule.

import { describe, expect, test } from "bun:test";
import type { AgentError } from "../../../src/lib/errors.ts";
import type { ConnectOptions, MqttMessage, MqttSession } from "../../../src/mqtt/mqtt-link.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { PERSONALITIES } from "../../fakes/strict-broker-rules.ts";
import { StrictBroker, type StrictBrokerOptions } from "../../fakes/strict-broker.ts";

const OWN = "agent/v1/node/pi-1";
const GROUPS = Array.from({ length: 20 }, (_, index) => `g${index}`);

class Client {
  readonly clock = new VirtualClock();
  readonly broker: StrictBroker;
  readonly heard: { readonly at: number; readonly text: string }[] = [];

  constructor(options: Partial<StrictBrokerOptions> = {}) {
    const groups = { "pi-1": GROUPS };
    this.broker = new StrictBroker({ clock: this.clock, personality: "aws", groups, ...options });
  }

  connect(more: Partial<ConnectOptions> = {}): Promise<MqttSession> {
    const options: ConnectOptions = {
      url: "mqtt://broker",
      clientId: "pi-1",
      protocolVersion: 5,
      keepAliveSeconds: 60,
      sessionExpirySeconds: 60,
      connectTimeoutMs: 1000,
      will: { ...message(`${OWN}/state`, "lost"), delaySeconds: 30 },
      ...more,
    };
    const hear = ({ payload }: MqttMessage): void => {
      this.heard.push({ at: this.clock.monotonic(), text: new TextDecoder().decode(payload) });
    };
    return this.broker.link().connect(options, hear, new AbortController().signal);
  }

  /** Its answer, or why there was none. */
  async outcome(answer: Promise<unknown>): Promise<unknown> {
    const settled = answer.catch((error: AgentError) => error.reason);
    await this.clock.advance(10);
    return settled;
  }

  get rules(): readonly string[] {
    return this.broker.breaches.map(({ rule }) => rule);
  }
}

function message(topic: string, text: string, retain = true): MqttMessage {
  return { topic, payload: new TextEncoder().encode(text), qos: 1, retain };
}

function groupFilters(from: number, count: number): readonly string[] {
  return GROUPS.flatMap((name) =>
    ["desired", "rollout", "command"].map((word) => `agent/v1/group/${name}/${word}`),
  ).slice(from, from + count);
}

describe.each(PERSONALITIES)("%s", (personality) => {
  const version = personality === "v3.1.1" ? 4 : 5;
  const connected = async (more: Partial<StrictBrokerOptions> = {}) => {
    const client = new Client({ personality, ...more });
    return { client, session: await client.connect({ protocolVersion: version }) };
  };

  test("ends a client with nine filters in one SUBSCRIBE", async () => {
    const { client, session } = await connected();
    expect(await client.outcome(session.subscribe(groupFilters(0, 8)))).toHaveLength(8);
    expect(await client.outcome(session.subscribe(groupFilters(8, 9)))).toBe("SessionEnded");
    expect(client.rules).toEqual(["filters"]);
  });

  test("refuses the 51st subscription", async () => {
    const { client, session } = await connected();
    for (let at = 0; at < 48; at += 8) await client.outcome(session.subscribe(groupFilters(at, 8)));
    expect(await client.outcome(session.subscribe(groupFilters(48, 2)))).toEqual([1, 1]);
    expect(await client.outcome(session.subscribe(groupFilters(50, 1)))).toEqual([0x97]);
    expect(client.rules).toEqual(["subscriptions"]);
  });

  test("knows who may read what", async () => {
    const { client, session } = await connected();
    const answer = await client.outcome(session.subscribe(["agent/v1/node/pi-2/desired"]));
    const answers = { aws: "SessionEnded", eventgrid: [0x87], "v3.1.1": [0x80] } as const;
    expect(answer).toEqual(answers[personality]);
    expect(client.rules).toEqual(["topic"]);
  });

  test("knows who may say what", async () => {
    const { client, session } = await connected();
    const answer = await client.outcome(session.publish(message(`${OWN}/desired`, "x")));
    expect(answer).toBe(personality === "eventgrid" ? 0x87 : "SessionEnded");
    expect(client.rules).toEqual(["topic"]);
    expect(client.broker.retained(`${OWN}/desired`)).toBeUndefined();
  });

  test("ends a client with too much in one message, and with too much to keep", async () => {
    const { client, session } = await connected();
    const event = message(`${OWN}/event`, "x".repeat(128 * 1024 + 1), false);
    expect(await client.outcome(session.publish(event))).toBe("SessionEnded");
    const again = await client.connect({ protocolVersion: version });
    const kept = message(`${OWN}/reported`, "x".repeat(64 * 1024 + 1));
    expect(await client.outcome(again.publish(kept))).toBe("SessionEnded");
    expect(client.rules).toEqual(["payload", "retained"]);
  });

  test("ends a client with a topic of nine levels", async () => {
    const { client, session } = await connected();
    const deep = message(`${OWN}/response/a/b/c/d/e`, "x", false);
    expect(await client.outcome(session.publish(deep))).toBe("SessionEnded");
    expect(client.rules).toEqual(["levels"]);
  });

  test("closes the older of two connections", async () => {
    const { client, session } = await connected();
    await client.connect({ protocolVersion: version });
    expect(await session.ended).toEqual({
      by: "broker",
      message: "closed by the broker",
      ...(version === 5 ? { code: 0x8e } : {}),
    });
  });

  test("publishes the will at once, whatever delay was asked for", async () => {
    const { client, session } = await connected();
    session.abort();
    expect(client.broker.retained(`${OWN}/state`)).toBe("lost");
  });

  test("delivers twice and out of order", async () => {
    const { client, session } = await connected();
    await client.outcome(session.subscribe([`${OWN}/command`]));
    for (const text of ["1", "2", "3"]) client.broker.publish(`${OWN}/command`, text, false);
    await client.clock.advance(1000);
    expect(client.heard.map(({ text }) => text)).toEqual(["2", "3", "3", "1", "2", "1"]);
  });

  test("gives a session up that has more than 100 messages waiting", async () => {
    const { client, session } = await connected();
    await client.outcome(session.subscribe([`${OWN}/command`]));
    const command = (): void => client.broker.publish(`${OWN}/command`, "x", false);
    session.abort();
    for (let count = 0; count < 100; count += 1) command();
    const again = await client.connect({ protocolVersion: version });
    expect(again.ack.sessionPresent).toBe(true);
    again.abort();
    for (let count = 0; count < 101; count += 1) command();
    expect(client.broker.expired).toEqual(["pi-1"]);
    expect((await client.connect({ protocolVersion: version })).ack.sessionPresent).toBe(false);
  });

  test("brings nothing retained to a wildcard, and live messages", async () => {
    const { client, session } = await connected();
    client.broker.filtersAllowed = () => true;
    client.broker.publish(`${OWN}/command`, "old");
    await client.outcome(session.subscribe([`${OWN}/+`]));
    client.broker.publish(`${OWN}/command`, "new", false);
    await client.clock.advance(1000);
    expect(new Set(client.heard.map(({ text }) => text))).toEqual(new Set(["new"]));
  });

  test("sees two of one retained topic under way", async () => {
    const { client, session } = await connected();
    const both = ["1", "2"].map((text) => session.publish(message(`${OWN}/reported`, text)));
    await client.outcome(Promise.all(both));
    expect(client.rules).toEqual(["order"]);
  });
});

test("a client that does not wait for PUBACKs is over its window", async () => {
  const client = new Client({ personality: "eventgrid" });
  const session = await client.connect();
  const events = Array.from({ length: 5 }, () =>
    session.publish(message(`${OWN}/event`, "x", false)).catch(() => "over"),
  );
  expect(await client.outcome(Promise.all(events))).toContain("over");
  expect(client.rules).toEqual(["window"]);
});

test("Retain Available 0 and Maximum QoS 0 are the law", async () => {
  const client = new Client({ withoutRetain: true });
  expect(await client.outcome(client.connect())).toBe("RetainUnsupported");
  const will = { ...message(`${OWN}/state`, "lost", false), delaySeconds: 30 };
  const session = await client.connect({ will });
  expect(session.ack).toMatchObject({ retainAvailable: false, maximumQos: 1 });
  const kept = session.publish(message(`${OWN}/state`, "online"));
  expect(await client.outcome(kept)).toBe("SessionEnded");
  expect(client.broker.retained(`${OWN}/state`)).toBeUndefined();
  expect(client.rules).toEqual(["retain"]);
  client.broker.faults.allows = { maximumQos: 0 };
  const again = await client.connect({ will });
  await client.outcome(again.publish(message(`${OWN}/event`, "x", false)));
  expect(client.rules).toEqual(["retain", "qos"]);
});

test("v3.1.1 refuses MQTT 5", async () => {
  const client = new Client({ personality: "v3.1.1" });
  expect(await client.outcome(client.connect())).toBe("ProtocolUnsupported");
});
