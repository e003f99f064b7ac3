import { totalChanges } from "../../fakes/in-the-store.ts";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NewEvent } from "../../../src/api/v1/events.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { Events } from "../../../src/status/event-correlator.ts";
import type { Store } from "../../../src/store/store.ts";
import { UpstreamConnection } from "../../../src/upstream/link/connection.ts";
import type { EventBatch, WireEvent } from "../../../src/upstream/report/event-batch.ts";
import {
  EventUplink,
  type EventUplinkOptions,
} from "../../../src/upstream/report/publish-events.ts";
import { Publisher } from "../../../src/upstream/publisher.ts";
import { RevocableClock } from "../../fakes/fake-revocable-clock.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeBroker } from "../../fakes/fake-mqtt-broker.ts";
import { openStore } from "../store/open-store.ts";
import { dice } from "./upstream-world.ts";

const TOPIC = "agent/v1/node/pi-1/event";
const MINUTE = 60_000;

/** One life of the agent, as far as events go: from what is said to what the broker hears. */
class Life {
  readonly store: Store;
  readonly clock: RevocableClock;
  readonly uplink: EventUplink;
  readonly #events: Events;
  readonly #stop = new AbortController();
  readonly #connection: UpstreamConnection;
  #running: Promise<void> | undefined;

  constructor(
    clock: VirtualClock,
    broker: FakeBroker,
    stateDir: string,
    options: Partial<EventUplinkOptions> & { readonly caps?: number } = {},
  ) {
    this.clock = new RevocableClock(clock);
    const { caps = 5_000, ...more } = options;
    this.store = openStore(stateDir, { eventCaps: { Normal: caps, Warning: caps } });
    const { outbox, incarnation } = this.store;
    const log = createLogger({ clock, level: "error", write: () => undefined });
    const common = { clock: this.clock, log };
    const publisher = new Publisher({
      ...common,
      outbox,
      incarnation: incarnation.id,
      onChange: () => undefined,
    });
    this.uplink = new EventUplink({
      ...common,
      outbox: outbox.events,
      topic: TOPIC,
      node: "pi-1",
      bootId: "boot-1",
      onFlushed: () => publisher.wake(),
      ...more,
    });
    this.#events = new Events({ ...common, onRecorded: (event) => this.uplink.add(event) });
    this.#connection = new UpstreamConnection({
      ...common,
      random: dice(0.5),
      mqtt: broker.link(),
      files: realFiles(),
      config: {
        url: "mqtt://broker",
        topicRoot: "agent/v1",
        keepAliveSeconds: 60,
        reconnectMaxMs: 10_000,
        podStatus: "off",
        protocolVersion: 5,
        profile: "normal",
        requireSignature: false,
        requireDigest: false,
      },
      nodeName: "pi-1",
      clockSynchronised: () => true,
      incarnation: incarnation.id,
      nextSession: () => incarnation.nextSession(),
      bootId: "boot-1",
      agentVersion: "0.1.0",
      onMessage: () => undefined,
      onChange: () => undefined,
      publish: (session, number, signal) => {
        this.uplink.connected();
        return publisher.run(session, number, signal);
      },
    });
  }

  connect(): this {
    this.#running = this.#connection.run(this.#stop.signal);
    return this;
  }

  say(message: string, more: Partial<NewEvent> = {}): void {
    const object = { kind: "Pod", namespace: "default", name: `pod-${message}` };
    this.#events.record({ type: "Normal", reason: "Pulled", object, message, ...more });
  }

  get changes(): number {
    return totalChanges(this.store.database);
  }

  /** SIGTERM. */
  async stop(): Promise<void> {
    this.uplink[Symbol.dispose]();
    this.#stop.abort();
    await this.#running;
    this.store[Symbol.dispose]();
  }

  /** kill -9. */
  kill(): void {
    this.clock.revoke();
    this.store[Symbol.dispose]();
  }
}

let stateDir: string;
let clock: VirtualClock;
let broker: FakeBroker;
let lives: Life[] = [];

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "agent-events-"));
  clock = new VirtualClock({ wall: 0 });
  broker = new FakeBroker(clock);
  lives = [];
});
afterEach(() => {
  for (const life of lives) life.kill();
  rmSync(stateDir, { recursive: true, force: true });
});

function begin(options: ConstructorParameters<typeof Life>[3] = {}): Life {
  const life = new Life(clock, broker, stateDir, options);
  lives.push(life);
  return life;
}

function batches(): readonly EventBatch[] {
  return broker.texts(TOPIC).map((text) => JSON.parse(text) as EventBatch);
}

function events(): readonly WireEvent[] {
  return batches().flatMap((batch) => batch.events);
}

function messages(): readonly string[] {
  return events().map(({ message, count }) =>
    count === undefined ? message : `${message} x${count}`,
  );
}

test("what is said together is published as one batch", async () => {
  const life = begin().connect();
  await clock.advance(500);
  life.say("a", { object: { kind: "Pod", namespace: "shop", name: "web", uid: "u" } });
  life.say("b", { type: "Warning" });
  await clock.advance(2_000);
  const { incarnation } = life.store;
  const common = { time: "1970-01-01T00:00:00Z", boot: "boot-1", reason: "Pulled" };
  expect<readonly unknown[]>(batches()).toEqual([
    {
      incarnation: incarnation.id,
      session: batches()[0]?.session,
      events: [
        {
          n: 2,
          ...common,
          type: "Warning",
          object: { kind: "Pod", namespace: "default", name: "pod-b" },
          message: "b",
        },
        {
          n: 1,
          ...common,
          type: "Normal",
          object: { kind: "Pod", namespace: "shop", name: "web" },
          message: "a",
        },
      ],
    },
  ]);
  expect(broker.retained(TOPIC)).toBeUndefined();
});

test("a storm is written every ten seconds, not every second", async () => {
  const life = begin().connect();
  await clock.advance(500);
  for (let second = 0; second < 60; second += 1) {
    life.say(`${second}`);
    await clock.advance(1_000);
  }
  const times = broker.publications.filter(({ topic }) => topic === TOPIC).map(({ at }) => at);
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10_000);
  expect(times.length).toBeGreaterThanOrEqual(5);
  await clock.advance(10_000);
  expect(messages()).toHaveLength(60);
});

describe("a repetition", () => {
  test("is told every ten minutes at most, with its count", async () => {
    const life = begin().connect();
    for (let tenSeconds = 0; tenSeconds < 180; tenSeconds += 1) {
      life.say("again");
      await clock.advance(10_000);
    }
    await clock.advance(30 * MINUTE);
    expect(messages()).toEqual(["again", "again x60", "again x120", "again x180"]);
  });

  test("is told once more when it has stopped, so that the count is right", async () => {
    const life = begin().connect();
    for (let n = 0; n < 5; n += 1) life.say("again");
    await clock.advance(9 * MINUTE);
    expect(messages()).toEqual(["again"]);
    await clock.advance(2 * MINUTE);
    expect(messages()).toEqual(["again", "again x5"]);
    expect(clock.pending).toBeLessThan(5);
  });

  test("waits for no news of others, and they do not wait for it", async () => {
    const life = begin().connect();
    life.say("again");
    life.say("again");
    await clock.advance(5 * MINUTE);
    life.say("other");
    await clock.advance(2_000);
    expect(messages()).toEqual(["again", "other"]);
    await clock.advance(5 * MINUTE);
    expect(messages()).toEqual(["again", "other", "again x2"]);
  });
});

test("nothing is written when nothing is said", async () => {
  const life = begin().connect();
  life.say("a");
  await clock.advance(MINUTE);
  const before = life.changes;
  await clock.advance(60 * MINUTE);
  expect(life.changes).toBe(before);
});

test("a line that costs by the byte carries warnings only", async () => {
  const life = begin({ warningsOnly: () => true }).connect();
  life.say("normal");
  life.say("warning", { type: "Warning" });
  await clock.advance(20 * MINUTE);
  expect(messages()).toEqual(["warning"]);
});

describe("a number", () => {
  test("is never given twice, over kills, stops and lost acknowledgements", async () => {
    const seen = new Map<number, string>();
    for (let life = 0; life < 6; life += 1) {
      broker.faults.losePubacks = life % 2 === 0;
      const agent = begin().connect();
      for (let n = 0; n < 5; n += 1) {
        agent.say(`${life}.${n}`);
        await clock.advance(7_000);
      }
      broker.cut("pi-1");
      if (life % 3 === 0) await agent.stop();
      else agent.kill();
      lives = [];
      await clock.advance(1_000);
    }
    broker.faults.losePubacks = false;
    begin().connect();
    await clock.advance(MINUTE);
    for (const { n, message } of events()) {
      expect(seen.get(n) ?? message).toBe(message);
      seen.set(n, message);
    }
    expect(new Set(batches().map(({ incarnation }) => incarnation)).size).toBe(1);
    const told = [...seen].toSorted(([a], [b]) => a - b).map(([, message]) => message);
    expect(told).toEqual(told.toSorted());
    expect(told.length).toBeGreaterThanOrEqual(24);
  });

  test("goes with the event that a clean stop wrote down", async () => {
    const first = begin();
    first.say("last words");
    await first.stop();
    lives = [];
    begin().connect();
    await clock.advance(MINUTE);
    expect(messages()).toEqual(["last words"]);
  });
});

describe("a gap", () => {
  test("is told as soon as somebody listens again, once", async () => {
    broker.stop();
    const life = begin({ caps: 10 }).connect();
    for (let n = 0; n < 25; n += 1) {
      life.say(`n${n}`);
      if (n < 12) life.say(`w${n}`, { type: "Warning" });
      await clock.advance(MINUTE);
    }
    expect(events()).toEqual([]);
    broker.start();
    await clock.advance(MINUTE);
    const gap = "15 Normal and 2 Warning events were dropped before they were published";
    expect(messages().slice(0, 11)).toEqual([
      ...[2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((n) => `w${n}`),
      gap,
    ]);
    expect(messages().slice(11)).toEqual(
      [15, 16, 17, 18, 19, 20, 21, 22, 23, 24].map((n) => `n${n}`),
    );
    broker.cut("pi-1");
    await clock.advance(MINUTE);
    expect(messages()).toHaveLength(21);
  });
});

test("a disk that takes nothing for a while loses nothing", async () => {
  const life = begin();
  const { outbox } = life.store;
  const flush = outbox.events.flush.bind(outbox.events);
  let isFull = true;
  outbox.events.flush = (): boolean => {
    if (isFull) throw new Error("the disk is full");
    return flush();
  };
  life.connect();
  life.say("a");
  await clock.advance(MINUTE);
  expect(messages()).toEqual([]);
  isFull = false;
  await clock.advance(MINUTE);
  expect(messages()).toEqual(["a"]);
});
