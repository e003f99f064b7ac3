// A node joins and leaves groups while it is connected, and while it is not.

import { describe, expect, test } from "bun:test";

import { groupTopics } from "../../../src/protocol/mqtt-topics.ts";
import { world } from "./upstream-world.ts";

const of = (group: string): readonly string[] => groupTopics("agent/v1", group);
const desired = (group: string): string => `agent/v1/group/${group}/desired`;

function aWorld(...groups: readonly string[]) {
  const { clock, broker, node } = world();
  node.groups = groups;
  const change = async (wanted: readonly string[], left: readonly string[] = []): Promise<void> => {
    node.groups = wanted;
    node.leftGroups = left;
    node.connection.groupsChanged();
    await clock.advance(1000);
  };
  const heard = (): readonly string[] => node.received.map(({ text }) => text);
  return { clock, broker, node, change, heard };
}

describe("while it is connected", () => {
  test("a group that it joins is subscribed at once, and only that", async () => {
    const { clock, broker, node, change, heard } = aWorld("a");
    broker.publish(desired("b"), "of b");
    node.start();
    await clock.advance(1000);
    const before = broker.subscribes.length;
    await change(["b", "a"]);
    expect(broker.subscribes.slice(before)).toEqual([of("b")]);
    expect(heard()).toEqual(["of b"]);
    expect(broker.unsubscribes).toEqual([]);
    expect(node.connection.session()).toBe(1);
    await node.stop();
  });

  test("a group that it leaves is told to the broker once, and not heard any more", async () => {
    const { clock, broker, node, change, heard } = aWorld("a", "b");
    node.start();
    await clock.advance(1000);
    await change(["a"], ["b"]);
    await change(["a"], ["b"]);
    expect(broker.unsubscribes).toEqual([of("b")]);
    broker.publish(desired("b"), "too late");
    broker.publish(desired("a"), "of a");
    await clock.advance(1000);
    expect(heard()).toEqual(["of a"]);
    await change(["a", "b"]);
    await change(["a"], ["b"]);
    expect(broker.unsubscribes).toEqual([of("b"), of("b")]);
    await node.stop();
  });

  test("a group that the broker denies is told, until it is left", async () => {
    const { clock, broker, node, change } = aWorld();
    broker.faults.subackCodes.set(desired("a"), 0x87);
    node.start();
    await clock.advance(1000);
    await change(["a"]);
    expect(node.conditions).toMatchObject([{ type: "SubscribeDenied" }]);
    expect(node.conditions[0]?.message).toContain(desired("a"));
    await change([], ["a"]);
    expect(node.conditions).toEqual([]);
    await node.stop();
  });

  test("a broker that never answers an UNSUBSCRIBE is connected to anew", async () => {
    const { clock, broker, node, change } = aWorld("a");
    node.start();
    await clock.advance(1000);
    broker.faults.latency = 3_600_000;
    await change([], ["a"]);
    await clock.advance(30_000);
    expect(node.connection.session()).toBeUndefined();
    broker.faults.latency = 0;
    await node.stop();
  });
});

test("what happens between SUBSCRIBE and birth is not missed", async () => {
  const { clock, broker, node, heard } = aWorld();
  broker.faults.latency = 300;
  broker.publish(desired("a"), "of a");
  node.start();
  // The SUBSCRIBE is under way.
  while (broker.subscribes.length === 0) await clock.advance(10);
  node.groups = ["a"];
  node.connection.groupsChanged();
  await clock.advance(3000);
  expect(broker.subscribes.slice(1)).toEqual([of("a")]);
  expect(heard()).toEqual(["of a"]);
  broker.faults.latency = 0;
  await node.stop();
});

test("while it is away: the next session has the new groups, and drops the old", async () => {
  const { clock, broker, node, change } = aWorld("a");
  node.start();
  await clock.advance(1000);
  broker.faults.refuse = "unreachable";
  broker.cut("pi-1");
  await change(["b"], ["a"]);
  expect(broker.unsubscribes).toEqual([]);
  const before = broker.subscribes.length;
  delete broker.faults.refuse;
  await clock.advance(60_000);
  expect(broker.subscribes.slice(before).flat().slice(3)).toEqual([...of("b")]);
  expect(broker.unsubscribes).toEqual([of("a")]);
  await node.stop();
});
