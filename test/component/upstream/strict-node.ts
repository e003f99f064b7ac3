// A node's voice without the rest of it: real outbox, events, publisher and connection on virtual time.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MQTT_DEFAULTS } from "../../fakes/config-defaults.ts";
import type { NewEvent } from "../../../src/api/v1/events.ts";
import type { NodeCondition } from "../../../src/api/v1/pod-status.ts";
import { realFiles } from "../../../src/host/real-files.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import type { MqttLink } from "../../../src/mqtt/mqtt-link.ts";
import { Events } from "../../../src/status/event-correlator.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { UpstreamConnection } from "../../../src/upstream/link/connection.ts";
import { EventUplink } from "../../../src/upstream/report/publish-events.ts";
import { Publisher } from "../../../src/upstream/publisher.ts";
import { openStore } from "../store/open-store.ts";
import { dice } from "./upstream-world.ts";

export const NODE = "agent/v1/node/pi-1";
export const STATE = `${NODE}/state`;
export const REPORTED = `${NODE}/reported`;
export const EVENT = `${NODE}/event`;

export interface StrictNodeOptions {
  readonly clock: Clock;
  readonly link: MqttLink;
  readonly url?: string;
  readonly groups?: readonly string[];
  readonly eventCap?: number;
  readonly protocolVersion?: 4 | 5;
}

export class StrictNode implements Disposable {
  readonly store: Store;
  readonly heard: { readonly topic: string; readonly text: string }[] = [];
  freshSessions = 0;
  /** Topics, whenever one was set aside. */
  readonly setAside: string[] = [];
  connectionConditions: readonly NodeCondition[] = [];
  publishConditions: readonly NodeCondition[] = [];
  readonly #directory = mkdtempSync(join(tmpdir(), "agent-strict-"));
  readonly #publisher: Publisher;
  readonly #uplink: EventUplink;
  readonly #events: Events;
  readonly #connection: UpstreamConnection;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: StrictNodeOptions) {
    const { clock, link, groups = [], eventCap = 5_000 } = options;
    this.store = openStore(this.#directory, {
      eventCaps: { Normal: eventCap, Warning: eventCap },
    });
    const { outbox, incarnation } = this.store;
    const log = createLogger({ clock, level: "error", write: () => undefined });
    this.#publisher = new Publisher({
      clock,
      log,
      outbox,
      incarnation: incarnation.id,
      onChange: () => (this.publishConditions = this.#publisher.conditions()),
      onSetAside: (topic) => void this.setAside.push(topic),
    });
    this.#uplink = new EventUplink({
      clock,
      log,
      outbox: outbox.events,
      topic: EVENT,
      node: "pi-1",
      bootId: "boot-1",
      onFlushed: () => this.#publisher.wake(),
    });
    this.#events = new Events({ clock, log, onRecorded: (event) => this.#uplink.add(event) });
    const { protocolVersion = 5, url = "mqtt://broker" } = options;
    this.#connection = new UpstreamConnection({
      clock,
      log,
      mqtt: link,
      random: dice(0.5),
      files: realFiles(),
      config: { ...MQTT_DEFAULTS, url, protocolVersion },
      nodeName: "pi-1",
      incarnation: incarnation.id,
      clockSynchronised: () => true,
      groups: () => ({ wanted: groups, left: [] }),
      nextSession: () => incarnation.nextSession(),
      bootId: "boot-1",
      agentVersion: "0.1.0",
      onMessage: ({ topic, payload }) =>
        void this.heard.push({ topic, text: new TextDecoder().decode(payload) }),
      onChange: () => (this.connectionConditions = this.#connection.conditions()),
      publish: (session, number, signal) => {
        if (!session.ack.sessionPresent) this.freshSessions += 1;
        this.#uplink.connected();
        return this.#publisher.run(session, number, signal);
      },
    });
  }

  start(): void {
    this.#running = this.#connection.run(this.#stop.signal);
  }

  report(text: string): void {
    this.#put("reported", REPORTED, text);
  }

  pod(name: string, text: string): void {
    this.#put("pod", `${REPORTED}/pod/default/${name}`, text);
  }

  say(type: NewEvent["type"], message: string): void {
    const object = { kind: "Pod", namespace: "default", name: `pod-${message}` } as const;
    this.#events.record({ type, reason: "Told", object, message });
  }

  /** What waits for the disk's ten seconds is there now. */
  flush(): void {
    this.store.outbox.events.flush();
    this.#publisher.wake();
  }

  conditions(): readonly string[] {
    return [...this.connectionConditions, ...this.publishConditions].map(({ type }) => type);
  }

  /** Nothing waits for the broker any more. */
  get isDrained(): boolean {
    return this.store.database.query("SELECT 1 FROM outbox LIMIT 1").get() === undefined;
  }

  /** SIGTERM. */
  stop(): Promise<void> {
    this.#stop.abort();
    return this.#running ?? Promise.resolve();
  }

  /** Waits for nobody: what is under way then has no effect any more. */
  [Symbol.dispose](): void {
    this.#uplink[Symbol.dispose]();
    this.#stop.abort();
    this.store[Symbol.dispose]();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #put(kind: "reported" | "pod", topic: string, text: string): void {
    const payload = new TextEncoder().encode(text);
    this.store.outbox.put({ kind, topic, payload, qos: 1, retain: true });
    this.#publisher.wake();
  }
}
