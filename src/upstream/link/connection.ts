// Performs: keeps the node connected to its broker: subscribes, publishes birth, runs the publisher, and disconnects
// when the agent ends.

import {
  groupTopics,
  MAX_TOPIC_BYTES,
  subscriptionsFor,
  topicFor,
} from "../../protocol/mqtt-topics.ts";
import { type Monotonic, aborted } from "../../lib/clock.ts";
import { messageOf, reasonOf } from "../../lib/errors.ts";
import type { MqttMessage, MqttSession, SessionEnd } from "../../mqtt/mqtt-link.ts";
import { brokerOptions } from "./connect-options.ts";
import { CertificateWatch } from "./certificate-watch.ts";
import { allowedBy, lowered, type ConnectLimits } from "./connect-fallback.ts";
import { allowed } from "../connack-limits.ts";
import { decideReconnect, firstConnectDelay, remember, STABLE_MS } from "./reconnect.ts";
import { Subscriptions } from "./subscriptions.ts";
import { stateMessage } from "../../protocol/reported-state.ts";
import type { Edges } from "../../edges.ts";
import type { MqttConfig } from "../../config/mqtt-config.ts";
import type { NodeCondition } from "../../api/v1/pod-status.ts";
import { duplicateCondition, type Attempt } from "./duplicate-identity.ts";

export interface UpstreamConnectionOptions extends Pick<
  Edges,
  "clock" | "random" | "log" | "files" | "mqtt" | "bootId" | "clockSynchronised" | "nodeKeys"
> {
  readonly config: MqttConfig;
  readonly nodeName: string;
  readonly agentVersion: string;
  readonly incarnation: string;
  /** Groups whose topics are wanted, and those whose topics no longer are; read at each connect and after
   * `groupsChanged()`. Absent = none. */
  readonly groups?: () => { readonly wanted: readonly string[]; readonly left: readonly string[] };
  /** Topics beside those of the contract, and those to be left; read as `groups`. Absent = none. */
  readonly topics?: () => { readonly wanted: readonly string[]; readonly left: readonly string[] };
  /** The number of the next session; never twice in one incarnation. */
  readonly nextSession: () => number;
  /** Called with every message, also before birth; what it throws is logged, and the message is dropped. */
  readonly onMessage: (message: MqttMessage) => void;
  /** `conditions()` has changed. */
  readonly onChange: () => void;
  /** Called after birth. Publishes until its signal aborts, when the session is over or is about to end. */
  readonly publish: (session: MqttSession, number: number, signal: AbortSignal) => Promise<void>;
}

interface Live {
  readonly session: MqttSession;
  readonly number: number;
  readonly connectedAt: Monotonic;
}

const DISCONNECT_MS = 2_000;
const BIRTH_ACK_MS = 60_000;
/** Birth is published again, because a delayed will may overwrite it. */
const BIRTH_AGAIN_MS = { 4: 5_000, 5: 60_000 } as const;

export class UpstreamConnection {
  readonly #options: UpstreamConnectionOptions;
  readonly #subscriptions: Subscriptions;
  readonly #stateTopic: string;
  readonly #certificates: CertificateWatch;
  #limits: ConnectLimits;
  #history: readonly Attempt[] = [];
  #duplicate = false;
  #live: Live | undefined;
  /** Attempts in a row: each takes the next address. */
  #failures = 0;

  constructor(options: UpstreamConnectionOptions) {
    const { config, nodeName, groups, topics } = options;
    const root = config.topicRoot;
    this.#options = options;
    this.#limits = { protocolVersion: config.protocolVersion, willRetain: true, willQos: 1 };
    this.#stateTopic = topicFor({ type: "NodeState", root, node: nodeName });
    this.#subscriptions = new Subscriptions({
      ...options,
      filters: () => [
        ...subscriptionsFor(root, nodeName, groups?.().wanted ?? []),
        ...(topics?.().wanted ?? []),
      ],
      unwanted: () => [
        ...(groups?.().left ?? []).flatMap((group) => groupTopics(root, group)),
        ...(topics?.().left ?? []),
      ],
    });
    this.#certificates = new CertificateWatch(options);
  }

  /** `DuplicateIdentity`, `SubscribeDenied`, … */
  conditions(): readonly NodeCondition[] {
    return [
      ...(this.#duplicate ? [duplicateCondition(this.#options.nodeName)] : []),
      ...this.#subscriptions.conditions(),
      ...this.#certificates.conditions(),
    ];
  }

  /** Number of the present session; undefined = there is none. */
  session(): number | undefined {
    return this.#live?.number;
  }

  /** `groups()` or `topics()` has changed: the present session follows. */
  groupsChanged(): void {
    this.#subscriptions.changed();
  }

  /** Publishes birth again; does nothing without a connection. */
  announce(): void {
    if (this.#live !== undefined) void this.#birth(this.#live);
  }

  /** Reconnects until `signal` aborts; then disconnects within two seconds. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#stayConnected(signal), this.#certificates.run(signal)]);
  }

  async #stayConnected(signal: AbortSignal): Promise<void> {
    const { clock, random, config } = this.#options;
    const moment = () => ({
      now: clock.monotonic(),
      max: config.reconnectMaxMs,
      dice: random.next(),
    });
    await clock.sleep(firstConnectDelay(moment()), signal);
    while (!signal.aborted) {
      const attempt = await this.#attempt(signal);
      if (attempt === undefined || signal.aborted) continue;
      this.#history = remember(this.#history, attempt);
      const { delay, duplicateIdentity } = decideReconnect({ ...moment(), history: this.#history });
      this.#setDuplicate(duplicateIdentity);
      await clock.sleep(delay, signal);
    }
  }

  /** One session or failed attempt; undefined = try again at once with lower limits. */
  async #attempt(signal: AbortSignal): Promise<Attempt | undefined> {
    const { clock, log } = this.#options;
    const startedAt = clock.monotonic();
    const number = this.#options.nextSession();
    let session: MqttSession;
    try {
      session = await this.#connect(number, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      const why = messageOf(error);
      const limits = lowered(this.#limits, reasonOf(error, ""));
      if (limits !== undefined) {
        log.info("the broker refused an option of CONNECT; connecting again with lower limits", {
          ...limits,
          error: why,
        });
        this.#limits = limits;
        return undefined;
      }
      this.#failures += 1;
      log.warn("cannot connect to the broker", { error: why });
      return { startedAt, endedAt: clock.monotonic() };
    }
    const connectedAt = clock.monotonic();
    const { sessionPresent, protocolVersion } = session.ack;
    this.#limits = allowedBy(this.#limits, session.ack);
    log.info("connected to the broker", { session: number, sessionPresent, protocolVersion });
    const end = await this.#runSession({ session, number, connectedAt }, signal);
    const { by, code } = end;
    const attempt = { startedAt, connectedAt, endedAt: clock.monotonic(), by };
    return code === undefined ? attempt : { ...attempt, code };
  }

  #connect(number: number, signal: AbortSignal): Promise<MqttSession> {
    const { mqtt, config, files, nodeName } = this.#options;
    const will = this.#state("lost", number);
    this.#certificates.look();
    const limits = this.#limits;
    const urls = [config.url, ...(config.alternateUrls ?? [])];
    const url = urls[this.#failures % urls.length] ?? config.url;
    const own = { ...config, url };
    const options = brokerOptions({ config: own, files, clientId: nodeName, limits, will });
    return mqtt.connect(options, (message) => this.#receive(message), signal);
  }

  /** A retained message whose handling ends the process would arrive again after every start. */
  #receive(message: MqttMessage): void {
    this.#subscriptions.received();
    try {
      this.#options.onMessage(message);
    } catch (error) {
      this.#options.log.error("a message from the broker could not be handled", {
        topic: message.topic.slice(0, MAX_TOPIC_BYTES),
        bytes: message.payload.length,
        error: messageOf(error),
      });
    }
  }

  async #runSession(live: Live, signal: AbortSignal): Promise<SessionEnd> {
    const { session, number } = live;
    const ended = new AbortController();
    void session.ended.then(() => ended.abort());
    const over = AbortSignal.any([signal, ended.signal]);
    await this.#subscriptions.subscribeAll(session, over);
    if (!over.aborted) await this.#runConnected(live, over);
    this.#live = undefined;
    if (signal.aborted) await this.#disconnect(session, number);
    const end = await session.ended;
    this.#subscriptions.ended(end);
    if (!signal.aborted)
      this.#options.log.warn("the connection to the broker ended", { session: number, ...end });
    return end;
  }

  async #runConnected(live: Live, signal: AbortSignal): Promise<void> {
    this.#live = live;
    await Promise.race([this.#birth(live), aborted(signal)]);
    await Promise.all([
      this.#options.publish(live.session, live.number, signal),
      this.#subscriptions.follow(live.session, signal),
      this.#birthAgain(live, signal),
      this.#becomeStable(signal),
    ]);
  }

  /** Never rejects. */
  async #birth({ session, number }: Live): Promise<void> {
    const { clock, log } = this.#options;
    using _ = clock.after(BIRTH_ACK_MS, () => session.abort());
    try {
      const code = await session.publish(allowed(this.#state("online", number), session.ack));
      if (code >= 0x80)
        log.warn("the broker refused the state message (online)", {
          code,
          topic: this.#stateTopic,
        });
    } catch (error) {
      log.debug("the state message (online) was not published", { error: messageOf(error) });
    }
  }

  async #birthAgain(live: Live, signal: AbortSignal): Promise<void> {
    const { protocolVersion } = live.session.ack;
    await this.#options.clock.sleep(BIRTH_AGAIN_MS[protocolVersion], signal);
    if (!signal.aborted) void this.#birth(live);
  }

  async #becomeStable(signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(STABLE_MS, signal);
    if (!signal.aborted) this.#setDuplicate(false);
  }

  /** Publishes `offline` and sends DISCONNECT, within two seconds; ends the session in any case. */
  async #disconnect(session: MqttSession, number: number): Promise<void> {
    const { clock, log } = this.#options;
    const limit = new AbortController();
    const farewell = async (): Promise<void> => {
      try {
        await session.publish(allowed(this.#state("offline", number), session.ack));
        await session.end();
      } catch (error) {
        log.debug("the state message (offline) was not published", { error: messageOf(error) });
      }
    };
    await Promise.race([farewell(), clock.sleep(DISCONNECT_MS, limit.signal)]);
    limit.abort();
    session.abort();
  }

  #state(state: "online" | "offline" | "lost", session: number): MqttMessage {
    const { clock, incarnation, bootId: bootID, agentVersion: agent } = this.#options;
    const now = clock.now();
    const keys = this.#options.nodeKeys?.published();
    const payload = stateMessage(state, { incarnation, session, now, bootID, agent, keys });
    return { topic: this.#stateTopic, payload, qos: 1, retain: true };
  }

  #setDuplicate(duplicate: boolean): void {
    if (duplicate === this.#duplicate) return;
    this.#duplicate = duplicate;
    if (duplicate)
      this.#options.log.warn("another device seems to use this node's name", {
        reason: "DuplicateIdentity",
      });
    this.#options.onChange();
  }
}
