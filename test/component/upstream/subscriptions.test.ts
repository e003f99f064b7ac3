import { expect, test } from "bun:test";

import { AgentError } from "../../../src/lib/errors.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { MqttSession, SessionEnd } from "../../../src/mqtt/mqtt-link.ts";
import { Subscriptions } from "../../../src/upstream/link/subscriptions.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { COMMAND, DESIRED, TRUST, world } from "./upstream-world.ts";

test("a SUBACK that is no answer ends the session: nobody stays connected without its topics", async () => {
  const clock = new VirtualClock();
  const subscriptions = new Subscriptions({
    clock,
    log: createLogger({ clock, level: "debug", write: () => undefined }),
    filters: () => ["a", "b"],
    onChange: () => undefined,
  });
  const ended = Promise.withResolvers<SessionEnd>();
  const session: MqttSession = {
    ack: {
      sessionPresent: false,
      receiveMaximum: 20,
      maximumQos: 1,
      retainAvailable: true,
      maximumPacketSize: undefined,
      protocolVersion: 5,
    },
    subscribe: () =>
      Promise.reject(new AgentError({ reason: "SessionEnded", message: "one code for two" })),
    unsubscribe: () => Promise.resolve(),
    publish: () => Promise.resolve(0),
    ended: ended.promise,
    end: () => Promise.resolve(),
    abort: () => ended.resolve({ by: "us", message: "dropped" }),
  };
  await subscriptions.subscribeAll(session, new AbortController().signal);
  expect(await ended.promise).toEqual({ by: "us", message: "dropped" });
});

test("what the broker has dropped after a burst of messages is fetched by subscribing again", async () => {
  const { clock, broker, node } = world();
  node.start();
  await clock.advance(1_000);
  for (let sent = 0; sent < 100; sent += 1) broker.publish(COMMAND, "any", false);
  broker.faults.queuesFullFor.add(DESIRED);
  broker.publish(DESIRED, "newest");
  broker.faults.queuesFullFor.clear();
  await clock.advance(4_000);
  expect(broker.subscribes).toHaveLength(1);
  await clock.advance(2_000);
  expect(broker.subscribes).toEqual([
    [TRUST, DESIRED, COMMAND],
    [TRUST, DESIRED, COMMAND],
  ]);
  expect(node.received.at(-1)).toEqual({ topic: DESIRED, text: "newest", retained: true });
  expect(node.logged.join("")).toContain("the broker may have dropped messages of a burst");
  await clock.advance(3_000_000);
  expect(broker.subscribes).toHaveLength(2);
  await node.stop();
});

test("single messages, however many, lead to no other SUBSCRIBE", async () => {
  const { clock, broker, node } = world();
  node.start();
  await clock.advance(1_000);
  for (let sent = 0; sent < 200; sent += 1) {
    broker.publish(DESIRED, String(sent));
    await clock.advance(1_500);
  }
  expect(broker.subscribes).toHaveLength(1);
  await node.stop();
});
