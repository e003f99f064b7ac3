// MqttLink to a broker in memory. Everything happens on the virtual clock and in microtasks, in one order only.

import { AgentError } from "../../src/lib/errors.ts";
import type {
  ConnectAck,
  ConnectOptions,
  MqttLink,
  MqttMessage,
  MqttSession,
  SessionEnd,
} from "../../src/mqtt/mqtt-link.ts";
import type { FakeBroker } from "./fake-mqtt-broker.ts";

export class FakeMqttLink implements MqttLink {
  readonly #broker: FakeBroker;
  readonly #sessions = new Set<FakeMqttSession>();
  /** The process behind this link is dead: nothing it hears or says counts any more. */
  revoked = false;

  constructor(broker: FakeBroker) {
    this.#broker = broker;
  }

  async connect(
    options: ConnectOptions,
    onMessage: (message: MqttMessage) => void,
    signal: AbortSignal,
  ): Promise<MqttSession> {
    if (this.revoked) return never();
    await Promise.resolve();
    // No CONNACK: the library gives up after the connect timeout.
    if (this.#broker.faults.refuse === "silent")
      await this.#broker.clock.sleep(options.connectTimeoutMs, signal);
    if (this.revoked) return never();
    if (signal.aborted) throw new AgentError({ reason: "ConnectFailed", message: "stopped" });
    const session = this.#broker.accept(options, onMessage, this);
    this.#sessions.add(session);
    return session;
  }

  /** kill -9: the broker sees the connections close and publishes the wills; the dead process hears nothing. */
  crash(): void {
    this.revoked = true;
    for (const session of this.#sessions) this.#broker.left(session, false);
    this.#sessions.clear();
  }
}

export interface FakeSessionOptions {
  readonly broker: FakeBroker;
  readonly link: FakeMqttLink;
  readonly options: ConnectOptions;
  readonly ack: ConnectAck;
  readonly onMessage: (message: MqttMessage) => void;
}

export class FakeMqttSession implements MqttSession {
  readonly ack: ConnectAck;
  readonly options: ConnectOptions;
  readonly ended: Promise<SessionEnd>;
  readonly #broker: FakeBroker;
  readonly #link: FakeMqttLink;
  readonly #onMessage: (message: MqttMessage) => void;
  readonly #finished = Promise.withResolvers<SessionEnd>();
  #over: SessionEnd | undefined;

  constructor({ broker, link, options, ack, onMessage }: FakeSessionOptions) {
    this.ack = ack;
    this.options = options;
    this.ended = this.#finished.promise;
    this.#broker = broker;
    this.#link = link;
    this.#onMessage = onMessage;
  }

  async subscribe(filters: readonly string[]): Promise<readonly number[]> {
    if (this.#link.revoked) return never();
    this.#check();
    return this.#answer(this.#broker.subscribe(this, filters));
  }

  async unsubscribe(filters: readonly string[]): Promise<void> {
    if (this.#link.revoked) return never();
    this.#check();
    this.#broker.unsubscribe(this, filters);
    await this.#answer(true);
  }

  async publish(message: MqttMessage): Promise<number> {
    if (this.#link.revoked) return never();
    this.#check();
    const copy = { ...message, payload: new Uint8Array(message.payload) };
    const code = this.#broker.takeFrom(this, copy);
    return message.qos === 0 ? 0 : this.#answer(code);
  }

  async end(): Promise<void> {
    if (this.#link.revoked) return never();
    this.#broker.left(this, true);
    this.finish({ by: "us", message: "disconnected" });
    await this.ended;
  }

  abort(): void {
    if (this.#link.revoked || this.#over !== undefined) return;
    this.#broker.left(this, false);
    this.finish({ by: "us", message: "dropped" });
  }

  /** For the broker: a message to this client. */
  deliver(message: MqttMessage): void {
    if (this.#link.revoked || this.#over !== undefined) return;
    this.#onMessage({ ...message, payload: new Uint8Array(message.payload) });
  }

  /** For the broker: the connection is over. */
  finish(end: SessionEnd): void {
    if (this.#link.revoked || this.#over !== undefined) return;
    this.#over = end;
    this.#finished.resolve(end);
  }

  /** Of a round trip to the broker: no answer, and the session's end is the answer. */
  async #answer<T>(value: T | undefined): Promise<T> {
    const { clock, faults } = this.#broker;
    if (faults.latency > 0) await clock.sleep(faults.latency);
    else await Promise.resolve();
    if (value === undefined) await this.ended;
    if (this.#link.revoked) return never();
    this.#check();
    return value as T;
  }

  #check(): void {
    if (this.#over === undefined) return;
    const message = `the connection to the broker is over: ${this.#over.message}`;
    throw new AgentError({ reason: "SessionEnded", message });
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
