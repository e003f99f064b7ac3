// One node with its outbox, publisher and connection against a broker in memory, on virtual time.

import type { MqttConfig } from "../../../src/config/config.ts";
import type { NodeCondition } from "../../../src/api/v1/pod-status.ts";
import type { Files } from "../../../src/host/files.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { Random } from "../../../src/lib/random.ts";
import { UpstreamConnection } from "../../../src/upstream/link/connection.ts";
import { Publisher, type OutboxRows } from "../../../src/upstream/publisher.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import { FakeBroker } from "../../fakes/fake-mqtt-broker.ts";
import type { FakeMqttLink } from "../../fakes/fake-mqtt-link.ts";
import type { OutboxRow } from "../../../src/store/outbox/outbox.ts";

export const STATE = "agent/v1/node/pi-1/state";
export const DESIRED = "agent/v1/node/pi-1/desired";
export const COMMAND = "agent/v1/node/pi-1/command";
export const TRUST = "agent/v1/trust";
export const REPORTED = "agent/v1/node/pi-1/reported";

const BASE: MqttConfig = {
  url: "mqtt://broker",
  topicRoot: "agent/v1",
  keepAliveSeconds: 60,
  reconnectMaxMs: 300_000,
  podStatus: "retained",
  protocolVersion: 5,
  profile: "normal",
  requireSignature: false,
  requireDigest: false,
};

/** Rows in memory, in the order they were put; the rules of the real outbox that the publisher relies on. */
export class MemoryOutbox implements OutboxRows {
  readonly rows: OutboxRow[] = [];
  readonly inFlight = new Set<number>();
  #lastId = 0;

  put(topic: string, text: string, kind: OutboxRow["kind"] = "pod"): number {
    this.#lastId += 1;
    const payload = new TextEncoder().encode(text);
    this.rows.push({ id: this.#lastId, kind, topic, payload, qos: 1, retain: kind !== "event" });
    return this.#lastId;
  }

  nextBatch(limit: number, setAside: readonly string[]): readonly OutboxRow[] {
    const free = this.rows.filter(
      ({ id, topic }) => !this.inFlight.has(id) && !setAside.includes(topic),
    );
    const batch = free.slice(0, limit);
    for (const { id } of batch) this.inFlight.add(id);
    return batch;
  }

  sent(ids: readonly number[]): void {
    for (const id of ids) {
      if (!this.inFlight.delete(id)) continue;
      this.rows.splice(
        this.rows.findIndex((row) => row.id === id),
        1,
      );
    }
  }

  retry(id: number): void {
    this.inFlight.delete(id);
  }

  released(): void {
    this.inFlight.clear();
  }
}

/** Numbers that repeat; the same in every run. */
export function dice(...rolls: readonly number[]): Random {
  let next = 0;
  return {
    next: () => {
      const roll = rolls[next % rolls.length] ?? 0.5;
      next += 1;
      return roll;
    },
    hex: (length) => "5a".repeat(length),
  };
}

export interface NodeOptions {
  readonly config?: Partial<MqttConfig>;
  readonly random?: Random;
  readonly files?: Files;
  readonly nodeName?: string;
}

export class UpstreamNode {
  readonly outbox = new MemoryOutbox();
  readonly publisher: Publisher;
  readonly connection: UpstreamConnection;
  readonly link: FakeMqttLink;
  readonly received: { topic: string; text: string; retained: boolean }[] = [];
  readonly logged: string[] = [];
  conditions: readonly NodeCondition[] = [];
  publishConditions: readonly NodeCondition[] = [];
  freshSessions = 0;
  groups: readonly string[] = [];
  leftGroups: readonly string[] = [];
  clockTrusted = true;
  /** Whoever gets the messages throws. */
  stumbles = false;
  readonly #stop = new AbortController();
  #sessions = 0;
  #running: Promise<void> | undefined;

  constructor(clock: VirtualClock, broker: FakeBroker, options: NodeOptions = {}) {
    const log = createLogger({
      clock,
      level: "debug",
      write: (line) => void this.logged.push(line),
    });
    this.link = broker.link();
    this.publisher = new Publisher({
      clock,
      log,
      outbox: this.outbox,
      incarnation: "cafe",
      onChange: () => (this.publishConditions = this.publisher.conditions()),
    });
    this.connection = new UpstreamConnection({
      clock,
      random: options.random ?? dice(0.5),
      log,
      mqtt: this.link,
      files: options.files ?? realFiles(),
      config: { ...BASE, ...options.config },
      nodeName: options.nodeName ?? "pi-1",
      incarnation: "cafe",
      clockSynchronised: () => this.clockTrusted,
      groups: () => ({ wanted: this.groups, left: this.leftGroups }),
      nextSession: () => (this.#sessions += 1),
      bootId: "boot",
      agentVersion: "0.1.0",
      onMessage: ({ topic, payload, retain: retained }) => {
        if (this.stumbles) throw new Error("stumbled");
        this.received.push({ topic, text: new TextDecoder().decode(payload), retained });
      },
      onChange: () => (this.conditions = this.connection.conditions()),
      publish: (session, number, signal) => {
        if (!session.ack.sessionPresent) this.freshSessions += 1;
        return this.publisher.run(session, number, signal);
      },
    });
  }

  start(): void {
    this.#running = this.connection.run(this.#stop.signal);
  }

  /** Asks for a clean stop; the promise is run()'s. */
  stop(): Promise<void> {
    this.#stop.abort();
    return this.#running ?? Promise.resolve();
  }

  put(topic: string, text: string, kind?: OutboxRow["kind"]): number {
    const id = this.outbox.put(topic, text, kind);
    this.publisher.wake();
    return id;
  }

  /** Types of the conditions that are true. */
  conditionTypes(): readonly string[] {
    return [...this.conditions, ...this.publishConditions].map(({ type }) => type);
  }
}

export function world(options: NodeOptions = {}): {
  readonly clock: VirtualClock;
  readonly broker: FakeBroker;
  readonly node: UpstreamNode;
} {
  const clock = new VirtualClock();
  const broker = new FakeBroker(clock);
  return { clock, broker, node: new UpstreamNode(clock, broker, options) };
}
