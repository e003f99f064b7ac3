import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLogger } from "../../../src/lib/logger.ts";
import type { Store } from "../../../src/store/store.ts";
import { Publisher } from "../../../src/upstream/publisher.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeBroker } from "../../fakes/fake-mqtt-broker.ts";
import { openStore } from "../store/open-store.ts";

const TOPIC = "agent/v1/node/pi-1/reported";
let stateDir: string;
let store: Store;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "agent-publisher-"));
  store = openStore(stateDir);
});
afterEach(() => {
  store[Symbol.dispose]();
  rmSync(stateDir, { recursive: true, force: true });
});

function put(text: string): void {
  const payload = new TextEncoder().encode(text);
  store.outbox.put({ kind: "reported", topic: TOPIC, payload, qos: 1, retain: true });
}

test("drains the outbox in SQLite: newest wins while offline, a row in flight is resent, nothing twice", async () => {
  const clock = new VirtualClock();
  const broker = new FakeBroker(clock);
  const publisher = new Publisher({
    clock,
    log: createLogger({ clock, level: "error", write: () => undefined }),
    outbox: store.outbox,
    incarnation: store.incarnation.id,
    onChange: () => undefined,
  });
  const session = async (number: number, work: () => Promise<void>): Promise<void> => {
    const over = new AbortController();
    const will = { topic: "w", payload: new Uint8Array(), qos: 1, retain: true, delaySeconds: 0 };
    const live = await broker.link().connect(
      {
        url: "mqtt://broker",
        clientId: "pi-1",
        protocolVersion: 5,
        keepAliveSeconds: 60,
        sessionExpirySeconds: 0,
        connectTimeoutMs: 1000,
        will: { ...will, qos: 1 },
      },
      () => undefined,
      over.signal,
    );
    void live.ended.then(() => over.abort());
    const running = publisher.run(live, number, over.signal);
    await work();
    broker.cut("pi-1");
    await running;
  };

  put("one");
  put("two");
  broker.faults.losePubacks = true;
  await session(1, async () => {
    await clock.advance(1000);
    put("three");
    publisher.wake();
    await clock.advance(1000);
  });
  expect(broker.texts(TOPIC)).toEqual(["two"]);

  broker.faults.losePubacks = false;
  await session(2, async () => {
    await clock.advance(1000);
    put("three");
    publisher.wake();
    await clock.advance(1000);
  });
  expect(broker.texts(TOPIC)).toEqual(["two", "three"]);
  expect(store.outbox.nextBatch(10)).toEqual([]);
});
