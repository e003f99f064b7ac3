// A broker in memory: retained messages, persistent sessions, wills, take-over, and every way to misbehave.

import type { Clock } from "../../src/lib/clock.ts";
import { AgentError } from "../../src/lib/errors.ts";
import type {
  ConnectAck,
  ConnectOptions,
  MqttMessage,
  SessionEnd,
} from "../../src/mqtt/mqtt-link.ts";
import { FakeMqttLink, FakeMqttSession } from "./fake-mqtt-link.ts";

/** What the broker does wrong, or does not allow; a test sets and unsets the fields. */
export interface BrokerFaults {
  /** Answer to CONNECT: a CONNACK code, no answer ever, or no listener at all. */
  refuse?: number | "silent" | "unreachable";
  /** Versions it speaks; default both. */
  versions?: readonly (4 | 5)[];
  /** What CONNACK allows. */
  allows?: Partial<ConnectAck>;
  /** A will beyond that is refused with CONNACK, as mosquitto does; default it is taken. */
  refusesWills?: boolean;
  /** SUBACK code by filter. */
  readonly subackCodes: Map<string, number>;
  /** PUBACK code by topic. */
  readonly pubackCodes: Map<string, number>;
  /** Closes the connection when somebody subscribes to, or publishes on, one of these. */
  readonly closesOn: Set<string>;
  loseSubacks: boolean;
  losePubacks: boolean;
  /** The same for single topics. */
  readonly losesPubacksOn: Set<string>;
  /** New messages on these topics do not fit into the queues of the subscribers. */
  readonly queuesFullFor: Set<string>;
  /** Ms from a SUBSCRIBE or PUBLISH to its answer. */
  latency: number;
}

export interface Publication extends MqttMessage {
  /** Clock.monotonic() */
  readonly at: number;
  /** "" = the test itself. */
  readonly clientId: string;
}

export interface ConnectRecord {
  readonly at: number;
  readonly clientId: string;
  readonly protocolVersion: 4 | 5;
  readonly accepted: boolean;
}

/** What the broker keeps of one client. */
export interface Subscriber {
  readonly filters: Set<string>;
  /** What waits for it while it is away. */
  readonly queue: MqttMessage[];
  session: FakeMqttSession | undefined;
  will: Disposable | undefined;
}

const MAX_PACKET = 256 * 1024;
const TAKEN_OVER = 0x8e;
const PACKET_TOO_LARGE = 0x95;

export class FakeBroker {
  readonly faults: BrokerFaults = {
    subackCodes: new Map(),
    pubackCodes: new Map(),
    closesOn: new Set(),
    loseSubacks: false,
    losePubacks: false,
    losesPubacksOn: new Set(),
    queuesFullFor: new Set(),
    latency: 0,
  };
  /** Every message the broker has taken, wills too, in order. */
  readonly publications: Publication[] = [];
  readonly connects: ConnectRecord[] = [];
  /** SUBSCRIBE packets in order. */
  readonly subscribes: (readonly string[])[] = [];
  readonly unsubscribes: (readonly string[])[] = [];
  /** The last CONNECT of each client. */
  readonly connectOptions = new Map<string, ConnectOptions>();
  readonly clock: Clock;
  readonly #retained = new Map<string, MqttMessage>();
  readonly #clients = new Map<string, Subscriber>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** One device's way to the broker. */
  link(): FakeMqttLink {
    return new FakeMqttLink(this);
  }

  /** Publishes as somebody else. Objects become JSON. */
  publish(topic: string, payload: string | object | Uint8Array, retain = true): void {
    const text = typeof payload === "string" ? payload : JSON.stringify(payload);
    const bytes = payload instanceof Uint8Array ? payload : new TextEncoder().encode(text);
    this.take("", { topic, payload: bytes, qos: 1, retain });
  }

  /** Text of a retained message. */
  retained(topic: string): string | undefined {
    const message = this.#retained.get(topic);
    return message === undefined ? undefined : new TextDecoder().decode(message.payload);
  }

  /** Topics below `prefix` that hold a message. */
  retainedTopics(prefix: string): readonly string[] {
    return [...this.#retained.keys()].filter((topic) => topic.startsWith(prefix)).toSorted();
  }

  /** Texts published on a topic, oldest first. */
  texts(topic: string): readonly string[] {
    const found = this.publications.filter((publication) => publication.topic === topic);
    return found.map(({ payload }) => new TextDecoder().decode(payload));
  }

  isConnected(clientId: string): boolean {
    return this.#clients.get(clientId)?.session !== undefined;
  }

  /** Ends a client's connection from the broker's side; with a code only MQTT 5 is told. */
  close(clientId: string, code?: number): void {
    const told = this.connectOptions.get(clientId)?.protocolVersion === 5 ? code : undefined;
    const end: SessionEnd = { by: "broker", message: "closed by the broker" };
    this.#drop(clientId, told === undefined ? end : { ...end, code: told });
  }

  /** The network between the client and the broker is gone, and both notice now. */
  cut(clientId: string): void {
    this.#drop(clientId, { by: "network", message: "keep-alive timeout" });
  }

  /** The broker's process ends: connections close, sessions and retained messages stay unless `wipe`. */
  stop(wipe = false): void {
    this.faults.refuse = "unreachable";
    for (const [clientId, client] of this.#clients) {
      const { session } = client;
      client.session = undefined;
      session?.finish({ by: "broker", message: `the broker that served ${clientId} ended` });
    }
    if (!wipe) return;
    this.#retained.clear();
    this.#clients.clear();
  }

  start(): void {
    delete this.faults.refuse;
  }

  /** For FakeMqttLink: one CONNECT. */
  accept(
    options: ConnectOptions,
    onMessage: (message: MqttMessage) => void,
    link: FakeMqttLink,
  ): FakeMqttSession {
    const { clientId, protocolVersion } = options;
    const refusal = this.#refusal(options);
    this.connects.push({
      at: this.clock.monotonic(),
      clientId,
      protocolVersion,
      accepted: refusal === undefined,
    });
    if (refusal !== undefined) throw refusal;
    const known = this.#clients.get(clientId);
    if (known?.session !== undefined) this.close(clientId, TAKEN_OVER);
    known?.will?.[Symbol.dispose]();
    this.connectOptions.set(clientId, options);
    const session = new FakeMqttSession({
      broker: this,
      link,
      options,
      onMessage,
      ack: this.#ack(options, known !== undefined),
    });
    const client = known ?? { filters: new Set(), queue: [], session, will: undefined };
    client.session = session;
    client.will = undefined;
    this.#clients.set(clientId, client);
    for (const message of client.queue.splice(0)) this.hand(session, message);
    return session;
  }

  /** For FakeMqttSession. undefined = no SUBACK. */
  subscribe(session: FakeMqttSession, filters: readonly string[]): readonly number[] | undefined {
    this.subscribes.push(filters);
    const { clientId } = session.options;
    if (filters.some((filter) => this.faults.closesOn.has(filter))) {
      this.close(clientId);
      return undefined;
    }
    if (this.faults.loseSubacks) return undefined;
    return filters.map((filter) => {
      const code = this.faults.subackCodes.get(filter) ?? 1;
      if (code >= 0x80) return code;
      this.#clients.get(clientId)?.filters.add(filter);
      for (const message of this.retainedFor(filter))
        this.#send(session, { ...message, retain: true });
      return code;
    });
  }

  /** For FakeMqttSession. */
  unsubscribe(session: FakeMqttSession, filters: readonly string[]): void {
    this.unsubscribes.push(filters);
    const known = this.#clients.get(session.options.clientId)?.filters;
    for (const filter of filters) known?.delete(filter);
  }

  /** For FakeMqttSession: one PUBLISH. undefined = no PUBACK. */
  takeFrom(session: FakeMqttSession, message: MqttMessage): number | undefined {
    if (this.faults.closesOn.has(message.topic)) {
      this.close(session.options.clientId);
      return undefined;
    }
    const code = this.faults.pubackCodes.get(message.topic) ?? 0;
    if (code < 0x80) this.take(session.options.clientId, message);
    const lost = this.faults.losePubacks || this.faults.losesPubacksOn.has(message.topic);
    return lost ? undefined : code;
  }

  take(clientId: string, message: MqttMessage): void {
    this.publications.push({ ...message, at: this.clock.monotonic(), clientId });
    const { topic, payload, retain } = message;
    if (retain && payload.length === 0) this.#retained.delete(topic);
    else if (retain) this.#retained.set(topic, message);
    if (this.faults.queuesFullFor.has(topic)) return;
    for (const [id, client] of this.#clients) {
      if (![...client.filters].some((filter) => this.matches(filter, topic))) continue;
      if (client.session === undefined) this.enqueue(id, client, message);
      else this.#send(client.session, message);
    }
  }

  /** For FakeMqttSession: the connection is over. A clean end drops the will. */
  left(session: FakeMqttSession, clean: boolean): void {
    const { clientId, will, protocolVersion } = session.options;
    const client = this.#clients.get(clientId);
    if (client?.session !== session) return;
    client.session = undefined;
    if (session.options.clean === true) this.#clients.delete(clientId);
    if (clean || will === undefined) return;
    if (protocolVersion === 4) return this.take(clientId, will);
    const publish = (): void => this.take(clientId, will);
    const delay = this.willDelayMs(will.delaySeconds);
    if (delay === 0) return publish();
    client.will = this.clock.after(delay, publish);
  }

  /** For a stricter broker: which retained messages a subscription brings. */
  protected retainedFor(filter: string): readonly MqttMessage[] {
    const message = this.#retained.get(filter);
    return message === undefined ? [] : [message];
  }

  protected matches(filter: string, topic: string): boolean {
    return filter === topic;
  }

  /** One message on its way to a client that is there. */
  protected hand(session: FakeMqttSession, message: MqttMessage): void {
    session.deliver(message);
  }

  /** One message for a client that is away. */
  protected enqueue(_clientId: string, { queue }: Subscriber, message: MqttMessage): void {
    queue.push(message);
  }

  protected willDelayMs(seconds: number): number {
    return seconds * 1_000;
  }

  /** What CONNACK says where `faults.allows` says nothing. */
  protected allows(_protocolVersion: 4 | 5): Partial<ConnectAck> {
    return {};
  }

  /** What it subscribed to in its session. */
  protected filtersOf(clientId: string): ReadonlySet<string> {
    return this.#clients.get(clientId)?.filters ?? new Set();
  }

  /** Its session is gone, as if it had never been there. */
  protected forget(clientId: string): void {
    this.#clients.delete(clientId);
  }

  #drop(clientId: string, end: SessionEnd): void {
    const session = this.#clients.get(clientId)?.session;
    if (session === undefined) return;
    this.left(session, false);
    session.finish(end);
  }

  #send(session: FakeMqttSession, message: MqttMessage): void {
    if (message.payload.length <= MAX_PACKET) return this.hand(session, message);
    // MQTT 5 knows the client's Maximum Packet Size; on 3.1.1 the client cuts the stream.
    if (session.options.protocolVersion === 5) return;
    this.#drop(session.options.clientId, {
      by: "us",
      code: PACKET_TOO_LARGE,
      message: `a packet of ${message.payload.length} bytes`,
    });
  }

  #refusal(options: ConnectOptions): AgentError | undefined {
    const { protocolVersion } = options;
    const { refuse, versions = [4, 5] } = this.faults;
    if (refuse === "unreachable" || refuse === "silent")
      return new AgentError({ reason: "ConnectFailed", message: "no connection to broker" });
    if (refuse !== undefined) {
      const message = `connection refused (CONNACK code 0x${refuse.toString(16)})`;
      return new AgentError({ reason: "ConnectRefused", message });
    }
    if (!versions.includes(protocolVersion))
      return new AgentError({ reason: "ProtocolUnsupported", message: "unsupported version" });
    const looks = this.faults.refusesWills === true && protocolVersion === 5;
    return looks ? this.#willRefusal(options) : undefined;
  }

  /** A will that the broker could not publish is refused with its own CONNACK code. */
  #willRefusal({ will, protocolVersion }: ConnectOptions): AgentError | undefined {
    const { retainAvailable, maximumQos } = {
      ...this.allows(protocolVersion),
      ...this.faults.allows,
    };
    if (will?.retain === true && retainAvailable === false)
      return new AgentError({ reason: "RetainUnsupported", message: "retain is not supported" });
    if (will?.qos === 1 && maximumQos === 0)
      return new AgentError({ reason: "QosUnsupported", message: "QoS is not supported" });
    return undefined;
  }

  #ack({ protocolVersion }: ConnectOptions, sessionPresent: boolean): ConnectAck {
    return {
      sessionPresent,
      receiveMaximum: 65_535,
      maximumQos: 2,
      retainAvailable: true,
      maximumPacketSize: undefined,
      protocolVersion,
      ...this.allows(protocolVersion),
      ...this.faults.allows,
    };
  }
}
