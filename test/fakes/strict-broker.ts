// The strictest of all brokers: enforces what the clouds do, notes every breach, and keeps no order among messages.

import type { Clock } from "../../src/lib/clock.ts";
import { AgentError } from "../../src/lib/errors.ts";
import type { ConnectAck, ConnectOptions, MqttMessage } from "../../src/mqtt/mqtt-link.ts";
import { matchesFilter } from "../harness/broker-client.ts";
import { FakeBroker, type Subscriber } from "./fake-mqtt-broker.ts";
import type { FakeMqttLink, FakeMqttSession } from "./fake-mqtt-link.ts";
import {
  mayPublish,
  maySubscribe,
  STRICT_RULES,
  type Personality,
  type StrictRules,
} from "./strict-broker-rules.ts";

export interface Breach {
  readonly rule:
    | "filters"
    | "subscriptions"
    | "levels"
    | "topic"
    | "payload"
    | "retained"
    | "retain"
    | "qos"
    | "window"
    | "order";
  readonly clientId: string;
  readonly what: string;
}

export interface StrictBrokerOptions {
  readonly clock: Clock;
  readonly personality: Personality;
  /** Groups whose topics a client may read. */
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  /** The broker has no retained messages, and says so: Retain Available 0. */
  readonly withoutRetain?: boolean;
  readonly rules?: Partial<StrictRules>;
}

/** Ms until the first and the second copy of a message arrive; neighbours change places. */
const COPIES = [
  [40, 90],
  [5, 60],
  [20, 21],
] as const;
const NOT_AUTHORISED = 0x87;
const PACKET_TOO_LARGE = 0x95;
const QUOTA_EXCEEDED = 0x97;
const RETAIN_NOT_SUPPORTED = 0x9a;
const QOS_NOT_SUPPORTED = 0x9b;
const RECEIVE_MAXIMUM_EXCEEDED = 0x93;

export class StrictBroker extends FakeBroker {
  readonly rules: StrictRules;
  /** What clients did that they must not. */
  readonly breaches: Breach[] = [];
  /** Clients whose session was given up because they stayed away too long. */
  readonly expired: string[] = [];
  /** Overrules who may read what. */
  filtersAllowed: ((clientId: string, filter: string) => boolean) | undefined;
  readonly #options: StrictBrokerOptions;
  /** Topics of QoS 1 that no PUBACK has answered yet. */
  readonly #open = new Map<FakeMqttSession, readonly string[]>();
  #deliveries = 0;

  constructor(options: StrictBrokerOptions) {
    super(options.clock);
    this.#options = options;
    this.rules = { ...STRICT_RULES[options.personality], ...options.rules };
    this.faults.versions = this.rules.versions;
    // An answer takes a moment: only so can a client have several messages under way.
    this.faults.latency = 2;
  }

  override accept(
    options: ConnectOptions,
    onMessage: (message: MqttMessage) => void,
    link: FakeMqttLink,
  ): FakeMqttSession {
    const { clientId, protocolVersion, will } = options;
    const keeps = this.#options.withoutRetain !== true;
    if (keeps || protocolVersion === 4 || will?.retain !== true)
      return super.accept(options, onMessage, link);
    // Nobody can know it before the first refusal.
    this.connects.push({ at: this.clock.monotonic(), clientId, protocolVersion, accepted: false });
    const message = "the will asks to be retained (CONNACK code 0x9a)";
    throw new AgentError({ reason: "RetainUnsupported", message });
  }

  override subscribe(
    session: FakeMqttSession,
    filters: readonly string[],
  ): readonly number[] | undefined {
    const { clientId } = session.options;
    const { maxFilters, maxSubscriptions, maxLevels, forbiddenSubscribe } = this.rules;
    if (filters.length > maxFilters) {
      this.#breach("filters", clientId, `${filters.length} in one SUBSCRIBE`);
      return this.#end(clientId, QUOTA_EXCEEDED);
    }
    if (filters.some((filter) => filter.split("/").length > maxLevels)) {
      this.#breach("levels", clientId, filters.join(" "));
      return this.#end(clientId, QUOTA_EXCEEDED);
    }
    const all = new Set([...this.filtersOf(clientId), ...filters]);
    if (all.size > maxSubscriptions) {
      this.#breach("subscriptions", clientId, `${all.size} in all`);
      return filters.map(() => QUOTA_EXCEEDED);
    }
    const forbidden = filters.filter((filter) => !this.#mayRead(clientId, filter));
    for (const filter of forbidden) this.#breach("topic", clientId, filter);
    if (forbidden.length > 0 && forbiddenSubscribe === "close")
      return this.#end(clientId, NOT_AUTHORISED);
    const allowed = filters.filter((filter) => !forbidden.includes(filter));
    const codes = super.subscribe(session, allowed);
    if (codes === undefined) return undefined;
    return filters.map((filter) => codes[allowed.indexOf(filter)] ?? Number(forbiddenSubscribe));
  }

  override takeFrom(session: FakeMqttSession, message: MqttMessage): number | undefined {
    const { clientId, protocolVersion } = session.options;
    if (this.#crowded(session, message)) return this.#end(clientId, RECEIVE_MAXIMUM_EXCEEDED);
    const code = this.#fault(session, message);
    if (code !== undefined) return this.#end(clientId, code);
    const { forbiddenPublish } = this.rules;
    if (!mayPublish(clientId, message.topic)) {
      this.#breach("topic", clientId, message.topic);
      // A 3.1.1 PUBACK cannot say no.
      if (forbiddenPublish === "close" || protocolVersion === 4)
        return this.#end(clientId, NOT_AUTHORISED);
      return forbiddenPublish;
    }
    return super.takeFrom(session, message);
  }

  override take(clientId: string, message: MqttMessage): void {
    const { withoutRetain = false } = this.#options;
    super.take(clientId, withoutRetain ? { ...message, retain: false } : message);
  }

  protected override matches(filter: string, topic: string): boolean {
    return matchesFilter(filter, topic);
  }

  /** A wildcard brings nothing that is retained. */
  protected override retainedFor(filter: string): readonly MqttMessage[] {
    return /[+#]/.test(filter) ? [] : super.retainedFor(filter);
  }

  /** QoS 1 twice, and later ones before earlier ones. */
  protected override hand(session: FakeMqttSession, message: MqttMessage): void {
    const delays = COPIES[this.#deliveries % COPIES.length] ?? [0];
    this.#deliveries += 1;
    for (const delay of delays) this.clock.after(delay, () => session.deliver(message));
  }

  protected override enqueue(clientId: string, client: Subscriber, message: MqttMessage): void {
    client.queue.push(message);
    if (client.queue.length <= this.rules.maxQueued) return;
    this.expired.push(clientId);
    this.forget(clientId);
  }

  protected override willDelayMs(): number {
    return 0;
  }

  protected override allows(protocolVersion: 4 | 5): Partial<ConnectAck> {
    if (protocolVersion === 4) return {};
    const { withoutRetain = false } = this.#options;
    return { ...this.rules.ack, retainAvailable: !withoutRetain };
  }

  #mayRead(clientId: string, filter: string): boolean {
    if (this.filtersAllowed !== undefined) return this.filtersAllowed(clientId, filter);
    return maySubscribe(clientId, filter, this.#options.groups?.[clientId] ?? []);
  }

  /** The code with which it closes because of what the message is. */
  #fault(
    session: FakeMqttSession,
    { topic, payload, qos, retain }: MqttMessage,
  ): number | undefined {
    const { clientId } = session.options;
    const { maxLevels, maxPayload, maxRetained } = this.rules;
    const { ack } = session;
    if (topic.split("/").length > maxLevels) {
      this.#breach("levels", clientId, topic);
      return NOT_AUTHORISED;
    }
    const size = `${topic}: ${payload.length} bytes`;
    if (payload.length > Math.min(maxPayload, ack.maximumPacketSize ?? maxPayload)) {
      this.#breach("payload", clientId, size);
      return PACKET_TOO_LARGE;
    }
    if (retain && payload.length > maxRetained) {
      this.#breach("retained", clientId, size);
      return PACKET_TOO_LARGE;
    }
    if (retain && !ack.retainAvailable) {
      this.#breach("retain", clientId, topic);
      return RETAIN_NOT_SUPPORTED;
    }
    if (qos > ack.maximumQos) {
      this.#breach("qos", clientId, topic);
      return QOS_NOT_SUPPORTED;
    }
    return undefined;
  }

  /** More under way than its Receive Maximum, or two retained ones of one topic: which wins is then chance. */
  #crowded(session: FakeMqttSession, { qos, topic, retain }: MqttMessage): boolean {
    if (qos === 0) return false;
    const { clientId } = session.options;
    const open = this.#open.get(session) ?? [];
    if (retain && open.includes(topic)) this.#breach("order", clientId, topic);
    this.#open.set(session, [...open, topic]);
    this.clock.after(this.faults.latency, () => {
      const now = [...(this.#open.get(session) ?? [])];
      now.splice(now.indexOf(topic), 1);
      this.#open.set(session, now);
    });
    if (open.length < session.ack.receiveMaximum) return false;
    this.#breach("window", clientId, `${open.length + 1} under way with ${topic}`);
    return true;
  }

  #breach(rule: Breach["rule"], clientId: string, what: string): void {
    this.breaches.push({ rule, clientId, what });
  }

  #end(clientId: string, code: number): undefined {
    this.close(clientId, code);
  }
}
