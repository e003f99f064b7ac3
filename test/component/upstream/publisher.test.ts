import { describe, expect, test } from "bun:test";

import { REPORTED, STATE, world } from "./upstream-world.ts";

const POD = "agent/v1/node/pi-1/reported/pod/default";
const EVENT = "agent/v1/node/pi-1/event";
const HOUR = 3_600_000;

/** A node that is connected and has caught up. */
async function connected(allows: object = {}) {
  const made = world();
  Object.assign(made.broker.faults, { allows });
  made.node.start();
  await made.clock.advance(1000);
  return made;
}

describe("rows", () => {
  test("go with their PUBACK, and wait for it", async () => {
    const { clock, broker, node } = await connected();
    broker.faults.losePubacks = true;
    node.put(REPORTED, "one", "reported");
    await clock.advance(1000);
    expect(broker.retained(REPORTED)).toBe("one");
    expect(node.outbox.rows).toHaveLength(1);
    broker.faults.losePubacks = false;
    broker.cut("pi-1");
    await clock.advance(5000);
    expect(broker.texts(REPORTED)).toEqual(["one", "one"]);
    expect(node.outbox.rows).toEqual([]);
    await node.stop();
  });

  test("are sent while there is no connection later", async () => {
    const { clock, broker, node } = world();
    broker.faults.refuse = "unreachable";
    node.start();
    node.put(REPORTED, "one", "reported");
    await clock.advance(60_000);
    broker.start();
    await clock.advance(60_000);
    expect(broker.texts(REPORTED)).toEqual(["one"]);
    await node.stop();
  });

  test("a broker that acknowledges nothing is left after a minute", async () => {
    const { clock, broker, node } = await connected();
    broker.faults.losePubacks = true;
    node.put(REPORTED, "one", "reported");
    await clock.advance(59_000);
    expect(broker.connects).toHaveLength(1);
    broker.faults.losePubacks = false;
    await clock.advance(10_000);
    expect(broker.connects).toHaveLength(2);
    expect(node.outbox.rows).toEqual([]);
    await node.stop();
  });

  test("go at most ten a second after a reconnect, and at once afterwards", async () => {
    const { clock, broker, node } = world();
    for (let pod = 0; pod < 50; pod += 1) node.outbox.put(`${POD}/p${pod}`, "{}");
    node.start();
    await clock.advance(500);
    const start = clock.monotonic();
    await clock.advance(10_000);
    const times = broker.publications
      .filter(({ topic }) => topic.startsWith(POD))
      .map(({ at }) => at - start);
    expect(times).toHaveLength(50);
    for (const [index, at] of times.entries())
      expect((times[index + 10] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(1000);
    expect(times.at(-1)).toBeLessThanOrEqual(5000);
    for (let pod = 0; pod < 50; pod += 1) node.put(`${POD}/p${pod}`, "new");
    await clock.settle();
    expect(node.outbox.rows).toEqual([]);
    await node.stop();
  });
});

describe("the window", () => {
  for (const [receiveMaximum, most] of [
    [65_535, 20],
    [10, 9],
    [1, 1],
  ] as const) {
    test(`is ${most} for a Receive Maximum of ${receiveMaximum}`, async () => {
      const { clock, broker, node } = await connected({ receiveMaximum });
      broker.faults.losePubacks = true;
      for (let pod = 0; pod < 50; pod += 1) node.put(`${POD}/p${pod}`, "{}");
      await clock.advance(10_000);
      const sent = broker.publications.filter(({ topic }) => topic.startsWith(POD));
      expect(sent).toHaveLength(most);
      broker.faults.losePubacks = false;
      await node.stop();
    });
  }
});

describe("reason codes", () => {
  test("0x97 backs off, and the row goes later", async () => {
    const { clock, broker, node } = await connected();
    broker.faults.pubackCodes.set(REPORTED, 0x97);
    node.put(REPORTED, "one", "reported");
    await clock.advance(20_000);
    expect(node.outbox.rows).toHaveLength(1);
    expect(node.conditionTypes()).toEqual([]);
    broker.faults.pubackCodes.clear();
    await clock.advance(20_000);
    expect(broker.texts(REPORTED)).toEqual(["one"]);
    await node.stop();
  });

  test("another refusal sets the topic aside for an hour and names it; the rest goes on", async () => {
    const { clock, broker, node } = await connected();
    broker.faults.pubackCodes.set(EVENT, 0x87);
    node.put(EVENT, "{}", "event");
    node.put(REPORTED, "one", "reported");
    await clock.advance(1000);
    expect(broker.texts(REPORTED)).toEqual(["one"]);
    expect(node.publishConditions).toEqual([
      {
        type: "PublishDenied",
        status: "True",
        reason: "TopicRefused",
        message: `${EVENT} was refused with reason code 0x87`,
      },
    ]);
    broker.faults.pubackCodes.clear();
    await clock.advance(HOUR - 10_000);
    expect(broker.texts(EVENT)).toEqual([]);
    await clock.advance(10_000);
    expect(broker.texts(EVENT)).toHaveLength(1);
    expect(node.conditionTypes()).toEqual([]);
    await node.stop();
  });

  test("a topic that is refused again stays named, and is tried once an hour", async () => {
    const { clock, broker, node } = await connected();
    broker.faults.pubackCodes.set(EVENT, 0x87);
    node.put(EVENT, "{}", "event");
    await clock.advance(3 * HOUR);
    expect(node.conditionTypes()).toEqual(["PublishDenied"]);
    expect(node.outbox.rows).toHaveLength(1);
    await node.stop();
  });

  test("an event over the Maximum Packet Size is dropped, and the next one goes", async () => {
    const { clock, broker, node } = await connected({ maximumPacketSize: 600 });
    node.put(EVENT, JSON.stringify({ message: "x".repeat(700) }), "event");
    node.put(EVENT, JSON.stringify({ message: "small" }), "event");
    await clock.advance(5_000);
    expect(broker.texts(EVENT)).toHaveLength(1);
    expect(broker.texts(EVENT)[0]).toContain("small");
    expect(node.conditionTypes()).toEqual([]);
    await node.stop();
  });

  test("a row over the Maximum Packet Size is not sent, and said", async () => {
    const { clock, broker, node } = await connected({ maximumPacketSize: 200 });
    node.put(REPORTED, "x".repeat(300), "reported");
    node.put(`${POD}/small`, "{}");
    await clock.advance(1000);
    expect(broker.texts(REPORTED)).toEqual([]);
    expect(broker.texts(`${POD}/small`)).toEqual(["{}"]);
    expect(node.publishConditions[0]?.message).toContain("Maximum Packet Size of 200");
    expect(broker.connects).toHaveLength(1);
    await node.stop();
  });

  test("Retain Available and Maximum QoS are obeyed, for birth too", async () => {
    const { broker, clock, node } = await connected({ retainAvailable: false, maximumQos: 0 });
    node.put(REPORTED, "one", "reported");
    await clock.advance(1000);
    const seen = broker.publications.map(({ topic, qos, retain }) => ({ topic, qos, retain }));
    expect(seen).toEqual([
      { topic: STATE, qos: 0, retain: false },
      { topic: REPORTED, qos: 0, retain: false },
    ]);
    expect(node.outbox.rows).toEqual([]);
    await node.stop();
  });
});

describe("a topic that ends the connection", () => {
  test("is found among innocent ones, set aside and retried hourly", async () => {
    const { clock, broker, node } = await connected();
    broker.faults.latency = 700;
    broker.faults.closesOn.add(`${POD}/bad`);
    const names = ["a", "b", "bad", "c", "d"];
    for (const name of names) node.outbox.put(`${POD}/${name}`, "{}");
    node.publisher.wake();
    await clock.advance(300_000);
    expect(node.outbox.rows.map(({ topic }) => topic)).toEqual([`${POD}/bad`]);
    expect(node.publishConditions.map(({ message }) => message)).toEqual([
      `${POD}/bad was in flight at three disconnects in a row`,
    ]);
    const connects = broker.connects.length;
    await clock.advance(HOUR / 2);
    expect(broker.connects).toHaveLength(connects);
    await clock.advance(HOUR / 2);
    expect(broker.connects).toHaveLength(connects + 1);
    broker.faults.closesOn.clear();
    await clock.advance(HOUR + 300_000);
    expect(node.outbox.rows).toEqual([]);
    expect(node.conditionTypes()).toEqual([]);
    broker.faults.latency = 0;
    await node.stop();
  });

  test("is not one that was in flight when the network dropped", async () => {
    const { clock, broker, node } = await connected();
    broker.faults.losesPubacksOn.add(REPORTED);
    for (let drop = 0; drop < 5; drop += 1) {
      node.put(REPORTED, `report ${drop}`, "reported");
      await clock.advance(1000);
      broker.cut("pi-1");
      await clock.advance(40_000);
    }
    expect(broker.texts(REPORTED).length).toBeGreaterThanOrEqual(5);
    expect(node.conditionTypes()).toEqual([]);
    broker.faults.losesPubacksOn.clear();
    await clock.advance(120_000);
    expect(node.outbox.rows).toEqual([]);
    await node.stop();
  });
});

test("events that wait together travel together, with their numbers", async () => {
  const { clock, broker, node } = world();
  for (const reason of ["Pulled", "Created", "Started"])
    node.outbox.put(EVENT, JSON.stringify({ reason }), "event");
  node.start();
  await clock.advance(1000);
  expect(broker.texts(EVENT).map((text): unknown => JSON.parse(text))).toEqual([
    {
      incarnation: "cafe",
      session: 1,
      events: [
        { n: 1, reason: "Pulled" },
        { n: 2, reason: "Created" },
        { n: 3, reason: "Started" },
      ],
    },
  ]);
  expect(node.outbox.rows).toEqual([]);
  await node.stop();
});
