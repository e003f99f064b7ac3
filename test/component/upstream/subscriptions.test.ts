import { expect, test } from "bun:test";

import { AgentError } from "../../../src/lib/errors.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { MqttSession, SessionEnd } from "../../../src/mqtt/mqtt-link.ts";
import { Subscriptions } from "../../../src/upstream/link/subscriptions.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";

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
