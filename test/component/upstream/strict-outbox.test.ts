// The outbox over every kind of broker: what goes first, how much at once, what stays until it was taken.

import { describe, expect, test } from "bun:test";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import type { EventBatch } from "../../../src/upstream/report/event-batch.ts";
import type { FakeBroker } from "../../fakes/fake-mqtt-broker.ts";
import { EVENT, REPORTED, STATE, StrictNode } from "./strict-node.ts";
import { breachesOf, BROKERS, brokerOf, type BrokerKind } from "./strict-worlds.ts";

const HOUR = 3_600_000;

function world(kind: BrokerKind, eventCap?: number) {
  const clock = new VirtualClock();
  const broker = brokerOf(kind, clock);
  const options = { clock, link: broker.link() };
  const node = new StrictNode(eventCap === undefined ? options : { ...options, eventCap });
  return { clock, broker, node };
}

/** Messages of the events the broker has, in the order they came. */
function told(broker: FakeBroker): readonly string[] {
  return broker
    .texts(EVENT)
    .flatMap((text) => (JSON.parse(text) as EventBatch).events.map(({ message }) => message));
}

/** Topics in the order of their first publication by the node. */
function order(broker: FakeBroker): readonly string[] {
  return [...new Set(broker.publications.map(({ topic }) => topic))];
}

describe.each(BROKERS.map((kind) => [kind.kind, kind] as const))("over %s", (_, kind) => {
  test("state, reported, Warning events, the rest", async () => {
    const { clock, broker, node } = world(kind);
    node.say("Normal", "pulled");
    node.say("Warning", "failed");
    node.pod("web", "{}");
    node.report("report");
    node.flush();
    node.start();
    await clock.advance(30_000);
    expect(order(broker)).toEqual([STATE, REPORTED, EVENT, `${REPORTED}/pod/default/web`]);
    expect(told(broker)).toEqual(["failed", "pulled"]);
    expect(node.isDrained).toBe(true);
    expect(breachesOf(broker)).toEqual([]);
    node[Symbol.dispose]();
  });

  test("at most ten a second after a reconnect, and never more than the window", async () => {
    const { clock, broker, node } = world(kind);
    for (let pod = 0; pod < 60; pod += 1) node.pod(`p${pod}`, "{}");
    node.start();
    await clock.advance(60_000);
    const times = broker.publications
      .filter(({ topic }) => topic.startsWith(`${REPORTED}/pod/`))
      .map(({ at }) => at);
    expect(times).toHaveLength(60);
    for (const [index, at] of times.entries())
      expect((times[index + 10] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(1_000);
    // Caught up: a burst now goes as fast as the window lets it.
    for (let pod = 0; pod < 60; pod += 1) node.pod(`p${pod}`, "new");
    await clock.advance(5_000);
    expect(node.isDrained).toBe(true);
    expect(breachesOf(broker)).toEqual([]);
    node[Symbol.dispose]();
  });

  test("one topic is under way once, and its newest word wins", async () => {
    const { clock, broker, node } = world(kind);
    node.start();
    await clock.advance(10_000);
    broker.faults.latency = 500;
    for (let word = 1; word <= 20; word += 1) {
      node.report(`word ${word}`);
      await clock.advance(90);
    }
    await clock.advance(10_000);
    expect(broker.texts(REPORTED).at(-1)).toBe("word 20");
    expect(broker.texts(REPORTED).length).toBeLessThan(10);
    expect(node.isDrained).toBe(true);
    expect(breachesOf(broker)).toEqual([]);
    node[Symbol.dispose]();
  });

  test("a row leaves with its PUBACK, whether the session was kept or not", async () => {
    const { clock, broker, node } = world(kind);
    node.start();
    await clock.advance(10_000);
    for (const wipe of [false, true]) {
      broker.faults.losePubacks = true;
      node.report(`report, wiped ${wipe}`);
      node.say("Warning", `event, wiped ${wipe}`);
      await clock.advance(15_000);
      expect(node.isDrained).toBe(false);
      broker.faults.losePubacks = false;
      broker.stop(wipe);
      broker.start();
      await clock.advance(120_000);
      expect(broker.texts(REPORTED).at(-1)).toBe(`report, wiped ${wipe}`);
      expect(told(broker)).toContain(`event, wiped ${wipe}`);
      expect(node.isDrained).toBe(true);
    }
    expect(breachesOf(broker)).toEqual([]);
    node[Symbol.dispose]();
  });

  test("the ring that ran over tells its gap", async () => {
    const { clock, broker, node } = world(kind, 20);
    broker.faults.refuse = "unreachable";
    node.start();
    for (let event = 0; event < 50; event += 1) {
      node.say("Normal", `n${event}`);
      if (event % 5 === 4) await clock.advance(11_000);
    }
    node.say("Warning", "still here");
    await clock.advance(11_000);
    broker.start();
    await clock.advance(400_000);
    const messages = told(broker);
    expect(messages).toContain("still here");
    expect(messages.filter((text) => /^n\d/.test(text))).toHaveLength(20);
    expect(messages.some((text) => text.startsWith("30 Normal and 0 Warning events"))).toBe(true);
    expect(node.isDrained).toBe(true);
    expect(breachesOf(broker)).toEqual([]);
    node[Symbol.dispose]();
  });

  test("a topic that ends the connection is set aside, the rest goes on, an hour later it is tried", async () => {
    const { clock, broker, node } = world(kind);
    broker.faults.closesOn.add(EVENT);
    node.say("Warning", "forbidden");
    node.flush();
    node.start();
    await clock.advance(300_000);
    expect(node.conditions()).toContain("PublishDenied");
    node.report("report");
    await clock.advance(10_000);
    expect(broker.texts(REPORTED).at(-1)).toBe("report");
    broker.faults.closesOn.clear();
    await clock.advance(HOUR + 400_000);
    expect(told(broker)).toEqual(["forbidden"]);
    expect(node.setAside).toEqual([EVENT]);
    expect(node.conditions()).not.toContain("PublishDenied");
    node[Symbol.dispose]();
  });
});

const SPEAKING = BROKERS.filter(({ personality }) => personality !== "v3.1.1");

describe.each(SPEAKING.map((kind) => [kind.kind, kind] as const))(
  "with codes, over %s",
  (_, kind) => {
    test("0x97 backs off and sets nothing aside", async () => {
      const { clock, broker, node } = world(kind);
      broker.faults.pubackCodes.set(REPORTED, 0x97);
      node.start();
      await clock.advance(10_000);
      node.report("report");
      await clock.advance(30_000);
      expect(node.isDrained).toBe(false);
      expect(node.conditions()).toEqual([]);
      broker.faults.pubackCodes.clear();
      await clock.advance(120_000);
      expect(broker.texts(REPORTED).at(-1)).toBe("report");
      expect(node.isDrained).toBe(true);
      node[Symbol.dispose]();
    });

    test("another refusal sets the topic aside and tries it hourly", async () => {
      const { clock, broker, node } = world(kind);
      broker.faults.pubackCodes.set(EVENT, 0x87);
      node.start();
      node.say("Warning", "refused");
      node.report("report");
      await clock.advance(60_000);
      expect(node.conditions()).toEqual(["PublishDenied"]);
      expect(broker.texts(REPORTED).at(-1)).toBe("report");
      broker.faults.pubackCodes.clear();
      await clock.advance(HOUR);
      expect(told(broker)).toEqual(["refused"]);
      expect(node.conditions()).toEqual([]);
      node[Symbol.dispose]();
    });
  },
);
