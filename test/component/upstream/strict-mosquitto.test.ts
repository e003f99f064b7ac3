// The suites' main stories once more with a real mosquitto and the real library, on real time.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { MqttSession } from "../../../src/mqtt/mqtt-link.ts";
import { MqttjsLink } from "../../../src/mqtt/mqttjs-link.ts";
import { systemClock } from "../../../src/lib/system-clock.ts";
import type { EventBatch } from "../../../src/upstream/report/event-batch.ts";
import { LinkMeter } from "../../../src/upstream/link/link-bytes.ts";
import { BrokerClient, type Collector } from "../../harness/broker-client.ts";
import { eventually } from "../../harness/eventually.ts";
import { Mosquitto } from "../mqtt/mosquitto.ts";
import { EVENT, NODE, REPORTED, STATE, StrictNode } from "./strict-node.ts";

/** Whoever has just booted waits before it connects. */
const longUp = (): number => 3_600_000 + performance.now();

let broker: Mosquitto;
beforeAll(async () => {
  broker = await Mosquitto.start();
});
afterAll(() => broker[Symbol.asyncDispose]());

function texts(all: Collector, topic: string): readonly string[] {
  const live = all.messages.filter((one) => one.topic === topic && !one.retain);
  return live.map(({ payload }) => payload);
}

describe.each([5, 4] as const)("over mosquitto with protocol %d", (protocolVersion) => {
  test("birth, order, drain, resend, goodbye; every byte is counted", async () => {
    const client = await BrokerClient.connect(broker.url);
    const all = await client.collect(`${NODE}/#`);
    const meter = new LinkMeter("agent/v1");
    const sessions: MqttSession[] = [];
    const link = meter.metered(new MqttjsLink(systemClock()));
    const node = new StrictNode({
      clock: systemClock(longUp),
      link: {
        connect: async (...args) => {
          const session = await link.connect(...args);
          sessions.push(session);
          return session;
        },
      },
      url: broker.url,
      protocolVersion,
      groups: ["kiosks"],
    });
    node.say("Normal", "pulled");
    node.say("Warning", "failed");
    node.pod("web", "{}");
    node.report("first report");
    node.flush();
    node.start();
    await eventually("the outbox is empty", () => node.isDrained, { timeout: 8_000 });
    const topics = all.messages.filter(({ retain }) => !retain).map(({ topic }) => topic);
    expect([...new Set(topics)]).toEqual([STATE, REPORTED, EVENT, `${REPORTED}/pod/default/web`]);
    const told = texts(all, EVENT).flatMap((text) => (JSON.parse(text) as EventBatch).events);
    expect(told.map(({ message }) => message)).toEqual(["failed", "pulled"]);
    // The network drops; what is said meanwhile arrives with the next session.
    sessions.at(-1)?.abort();
    await sessions.at(-1)?.ended;
    node.report("second report");
    await eventually("it has another session", () => sessions.length === 2, { timeout: 8_000 });
    await eventually("the outbox is empty again", () => node.isDrained, { timeout: 8_000 });
    expect(await client.retained(REPORTED)).toBe("second report");
    expect(sessions[1]?.ack.sessionPresent).toBe(true);
    await node.stop();
    await eventually("it says goodbye", () => texts(all, STATE).at(-1)?.includes('"offline"'));
    const bytes = meter.bytes();
    const sent = texts(all, REPORTED).reduce((sum, text) => sum + text.length, 0);
    expect(bytes.reported?.out).toBeGreaterThan(sent + 2 * REPORTED.length);
    expect(bytes.reported?.out).toBeLessThan(sent + 2 * REPORTED.length + 20);
    expect(bytes.state?.out).toBeGreaterThan(200);
    expect(bytes.other?.in).toBeGreaterThan(20);
    expect(bytes.other?.out).toBeGreaterThan(100);
    node[Symbol.dispose]();
    await client.publish(STATE, "", { retain: true });
    await client.publish(REPORTED, "", { retain: true });
    await client.publish(`${REPORTED}/pod/default/web`, "", { retain: true });
    await client.close();
  }, 30_000);
});
