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

/** A publisher over the store of the test; `session` runs `work` while it is connected. */
function aPublisher() {
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
  return { clock, broker, publisher, session };
}

test("drains the outbox in SQLite: newest wins while offline, a row in flight is resent, nothing twice", async () => {
  const { clock, broker, publisher, session } = aPublisher();

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

test("a report that is new while a long absence is caught up goes before what is left of it", async () => {
  const { clock, broker, publisher, session } = aPublisher();
  const payload = new TextEncoder().encode("{}");
  for (let pod = 0; pod < 30; pod += 1) {
    const topic = `agent/v1/node/pi-1/reported/pod/default/web-${pod}`;
    store.outbox.put({ kind: "pod", topic, payload, qos: 1, retain: true });
  }
  put("before");
  await session(1, async () => {
    await clock.advance(500);
    expect(broker.texts(TOPIC)).toEqual(["before"]);
    put("accepted");
    publisher.wake();
    await clock.advance(100);
    expect(broker.texts(TOPIC)).toEqual(["before", "accepted"]);
    await clock.advance(3000);
  });
  const sent = broker.publications.filter(({ topic }) => topic !== "w");
  const times = sent.map(({ at }) => at);
  expect(times).toHaveLength(32);
  for (const [index, at] of times.slice(0, -10).entries())
    expect((times[index + 10] ?? 0) - at).toBeGreaterThanOrEqual(1000);
});
