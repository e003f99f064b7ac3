// Birth, will and goodbye over every kind of broker.

import { describe, expect, test } from "bun:test";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import type { FakeBroker } from "../../fakes/fake-mqtt-broker.ts";
import { STATE, StrictNode } from "./strict-node.ts";
import { breachesOf, BROKERS, brokerOf, type BrokerKind } from "./strict-worlds.ts";

const GROUPS = Array.from({ length: 15 }, (_, index) => `g${index}`);

function world(kind: BrokerKind, groups: readonly string[] = []) {
  const clock = new VirtualClock();
  const broker = brokerOf(kind, clock, { groups: { "pi-1": GROUPS } });
  const node = new StrictNode({ clock, link: broker.link(), groups });
  return { clock, broker, node };
}

function states(broker: FakeBroker): readonly (readonly [string, number])[] {
  return broker.texts(STATE).map((text) => {
    const { state, session } = JSON.parse(text) as { state: string; session: number };
    return [state, session];
  });
}

describe.each(BROKERS.map((kind) => [kind.kind, kind] as const))("over %s", (_, kind) => {
  test("birth comes after the subscriptions, once more later, and a clean stop says so", async () => {
    const { clock, broker, node } = world(kind);
    node.start();
    await clock.advance(4_000);
    expect(broker.subscribes.length).toBeGreaterThan(0);
    expect(states(broker).map(([state]) => state)).toEqual(["online"]);
    await clock.advance(60_000);
    const [[, session] = ["", 0], ...rest] = states(broker);
    expect(rest).toEqual([["online", session]]);
    const stopping = node.stop();
    await clock.advance(2_000);
    await stopping;
    await clock.advance(60_000);
    expect(states(broker).at(-1)).toEqual(["offline", session]);
    expect(broker.retained(STATE) !== undefined).toBe(kind.retains);
    expect(breachesOf(broker)).toEqual([]);
    node[Symbol.dispose]();
  });

  test("a will that comes late is not the last word", async () => {
    const { clock, broker, node } = world(kind);
    node.start();
    await clock.advance(4_000);
    const will = broker.connectOptions.get("pi-1")?.will;
    if (will !== undefined) broker.take("pi-1", will);
    expect(states(broker).at(-1)?.[0]).toBe("lost");
    await clock.advance(60_000);
    expect(states(broker).at(-1)?.[0]).toBe("online");
    node[Symbol.dispose]();
  });

  test("after a drop of the network the last word is the new session's birth", async () => {
    const { clock, broker, node } = world(kind);
    node.start();
    await clock.advance(4_000);
    const [, first] = states(broker).at(-1) ?? ["", 0];
    broker.cut("pi-1");
    await clock.advance(120_000);
    const [state, second] = states(broker).at(-1) ?? ["", 0];
    expect(state).toBe("online");
    expect(second).toBeGreaterThan(first);
    expect(breachesOf(broker)).toEqual([]);
    node[Symbol.dispose]();
  });

  test("fifteen groups are at most eight filters a SUBSCRIBE and fifty in all", async () => {
    const { clock, broker, node } = world(kind, GROUPS);
    node.start();
    await clock.advance(30_000);
    const filters = broker.subscribes.flat();
    expect(new Set(filters).size).toBe(3 + 3 * GROUPS.length);
    for (const together of broker.subscribes) expect(together.length).toBeLessThanOrEqual(8);
    expect(breachesOf(broker)).toEqual([]);
    expect(node.conditions()).toEqual([]);
    node[Symbol.dispose]();
  });

  test("a session that is there is subscribed to anew as well, and no fresh one is told", async () => {
    const { clock, broker, node } = world(kind);
    node.start();
    await clock.advance(10_000);
    const before = broker.subscribes.flat().length;
    expect(node.freshSessions).toBe(1);
    broker.cut("pi-1");
    await clock.advance(60_000);
    expect(broker.subscribes.flat().length).toBe(2 * before);
    expect(node.freshSessions).toBe(1);
    broker.stop(true);
    broker.start();
    await clock.advance(120_000);
    expect(node.freshSessions).toBe(2);
    node[Symbol.dispose]();
  });
});
