// Performs: an operator's connection to the broker: reads what is retained, publishes, and receives what arrives meanwhile.

import { CliError } from "../cli/exit-codes.ts";
import type { Clock } from "../lib/clock.ts";
import { Limiter } from "../lib/concurrency-limit.ts";
import { messageOf } from "../lib/errors.ts";
import type { ConnectOptions, MqttLink, MqttMessage, MqttSession } from "../mqtt/mqtt-link.ts";
import { withProtocolFallback } from "../mqtt/protocol-fallback.ts";
import { allowed, excess } from "../upstream/connack-limits.ts";
import { inPackets, isWildcard } from "./fleet-topics.ts";

export interface OperatorOptions {
  readonly link: MqttLink;
  readonly clock: Clock;
  readonly connect: ConnectOptions;
}

/** Retained messages follow a SUBACK at once; after this long without a new topic there are no more. */
const SETTLE_MS = 500;
/** How often the topics that have arrived are counted meanwhile. */
const LOOK_MS = 100;
/** How long to wait for a named topic without a message. */
const PATIENCE_MS = 2_500;
/** After that the topics received so far must do: a client may publish new ones for ever. */
const LONGEST_MS = 10_000;
/** For SUBACK and PUBACK. */
const ANSWER_MS = 30_000;
const GOODBYE_MS = 2_000;
const REFUSED = 0x80;
/** SUBSCRIBE packets without an answer. */
const PACKETS_AT_ONCE = 16;

export class OperatorSession implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #session: MqttSession;
  readonly #latest: Map<string, Uint8Array>;
  readonly #listeners = new Set<(message: MqttMessage) => void>();
  /** Of a part: what ends it without ending the connection. */
  #leave: Disposable | undefined;

  private constructor(clock: Clock, session: MqttSession, latest = new Map<string, Uint8Array>()) {
    this.#clock = clock;
    this.#session = session;
    this.#latest = latest;
  }

  /** Throws CliError, when the broker refuses the connection. */
  static async open({ link, clock, connect }: OperatorOptions): Promise<OperatorSession> {
    const early: MqttMessage[] = [];
    let receive = (message: MqttMessage): void => void early.push(message);
    const attempt = (options: ConnectOptions): Promise<MqttSession> =>
      link.connect(options, (message) => receive(message), new AbortController().signal);
    const session = await firstSession(attempt, connect);
    const operator = new OperatorSession(clock, session);
    receive = (message) => operator.#receive(message);
    for (const message of early) receive(message);
    return operator;
  }

  /** The same connection for one piece of work: everything that listens for it ends with it. */
  part(): OperatorSession {
    const part = new OperatorSession(this.#clock, this.#session, this.#latest);
    part.#leave = this.listen((message) => part.#tell(message));
    return part;
  }

  /** The newest payload of every topic that was subscribed to; cleared topics are absent. */
  get latest(): ReadonlyMap<string, Uint8Array> {
    return this.#latest;
  }

  /** Keeps `payload` in `latest` in the place of what has arrived: the message has been read. */
  replace(topic: string, payload: Uint8Array): void {
    this.#latest.set(topic, payload);
  }

  /** Resolves when everything retained there has arrived: at once, if each of the topics has a message and none is a
   * wildcard. Throws CliError when the broker refuses a topic. */
  async subscribe(filters: readonly string[]): Promise<void> {
    refuse(await this.subscribeWhatMay(filters));
  }

  /** The same for the topics of many nodes, with QoS 0: a broker keeps what it sends with QoS 1 in a queue, and drops without
   * a word what has no room there (mosquitto: 1,000 messages). What it sends with QoS 0 waits in the connection.
   * `meanwhile` is done while it is waited for more. */
  async read(filters: readonly string[], meanwhile?: () => Promise<void>): Promise<void> {
    const seen = new Set<string>();
    using _ = this.listen(({ topic }) => void seen.add(topic));
    // One after the other: a SUBACK comes behind the retained messages, so each wildcard finds the connection empty.
    const wildcards = filters.filter(isWildcard).map((filter) => [filter]);
    const exact = inPackets(filters.filter((filter) => !isWildcard(filter)));
    const packets = new Limiter(PACKETS_AT_ONCE);
    const denied: string[] = [];
    const ask = async (packet: readonly string[]): Promise<void> =>
      void denied.push(...(await this.#ask(packet, 0)));
    for (const packet of wildcards) await ask(packet);
    await Promise.all(exact.map((packet) => packets.run(() => ask(packet))));
    refuse(denied);
    await Promise.all([this.#settled(seen, filters), meanwhile?.()]);
  }

  /** The same for topics on which nothing is retained: there is nothing to wait for. */
  async subscribeLive(filters: readonly string[]): Promise<void> {
    refuse(await this.#subscribe(filters));
  }

  /** The same as `subscribe`, where some topics may be refused: those are returned. */
  async subscribeWhatMay(filters: readonly string[]): Promise<readonly string[]> {
    const seen = new Set<string>();
    using _ = this.listen(({ topic }) => void seen.add(topic));
    const denied = await this.#subscribe(filters);
    const granted = filters.filter((filter) => !denied.includes(filter));
    await this.#settled(seen, granted);
    return denied;
  }

  /** The filters that the broker refuses. */
  async #subscribe(filters: readonly string[]): Promise<readonly string[]> {
    const denied: string[] = [];
    for (const packet of inPackets(filters)) denied.push(...(await this.#ask(packet, 1)));
    return denied;
  }

  async #ask(packet: readonly string[], qos: 0 | 1): Promise<readonly string[]> {
    const codes = await this.#inTime(this.#session.subscribe(packet, qos), "a subscription");
    return packet.filter((_, index) => (codes[index] ?? REFUSED) >= REFUSED);
  }

  /** Throws CliError when the broker refuses it. */
  async publish(topic: string, payload: Uint8Array, retain: boolean): Promise<void> {
    if (retain && !this.#session.ack.retainAvailable)
      throw new CliError(
        "this broker does not support retained messages, which are required; use another broker",
      );
    const { ack } = this.#session;
    const message = allowed({ topic, payload, qos: 1, retain }, ack);
    if (excess(message, ack) > 0)
      throw new CliError(
        `the message has ${payload.length} bytes, more than this broker accepts; make it smaller`,
      );
    const sent = this.#session.publish(message);
    const code = await this.#inTime(sent, `what was published on ${topic}`);
    if (code < REFUSED) return;
    const hex = code.toString(16).padStart(2, "0");
    throw new CliError(
      `the broker refused to publish on ${topic} (0x${hex}); check the permissions of this user`,
    );
  }

  /** Publishes with QoS 0 and waits for nothing: it may get lost. */
  cast(topic: string, payload: Uint8Array): void {
    this.#session.publish({ topic, payload, qos: 0, retain: false }).catch(() => undefined);
  }

  /** Resolves when the connection is over, whatever the cause. */
  get ended(): Promise<unknown> {
    return this.#session.ended;
  }

  /** Calls `listener` with everything that arrives, until disposed. */
  listen(listener: (message: MqttMessage) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Looks after every message until `look` is done, `ms` have passed or `signal` aborts. Throws CliError when
   * the connection ends. */
  async until<T>(
    look: () => T | undefined,
    { ms, signal }: { readonly ms?: number; readonly signal?: AbortSignal } = {},
  ): Promise<T | undefined> {
    const at = look();
    if (at !== undefined || signal?.aborted === true) return at;
    const found = Promise.withResolvers<T | undefined>();
    using _listening = this.listen(() => {
      const value = look();
      if (value !== undefined) found.resolve(value);
    });
    const stop = (): void => found.resolve(undefined);
    using _limit = ms === undefined ? undefined : this.#clock.after(ms, stop);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await this.#orGone(found.promise);
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#leave !== undefined) return this.#leave[Symbol.dispose]();
    const ended = Promise.withResolvers<void>();
    using _limit = this.#clock.after(GOODBYE_MS, () => {
      this.#session.abort();
      ended.resolve();
    });
    await Promise.race([this.#session.end(), ended.promise]);
  }

  #receive(message: MqttMessage): void {
    const { topic, payload } = message;
    // An empty payload clears a retained message.
    if (payload.length === 0) this.#latest.delete(topic);
    else this.#latest.set(topic, payload);
    this.#tell(message);
  }

  #tell(message: MqttMessage): void {
    for (const listener of this.#listeners) listener(message);
  }

  /** Only new topics count: a topic with constant traffic must not delay the end. */
  async #settled(seen: ReadonlySet<string>, granted: readonly string[]): Promise<void> {
    const from = this.#clock.monotonic();
    const exact = granted.filter((filter) => !isWildcard(filter));
    const missing = new Set(exact.filter((topic) => !seen.has(topic)));
    using _ = this.listen(({ topic }) => void missing.delete(topic));
    const isAll = (): true | undefined =>
      exact.length === granted.length && missing.size === 0 ? true : undefined;
    let count = seen.size;
    let changedAt = from;
    const isOver = (): boolean => {
      const now = this.#clock.monotonic();
      if (now - from >= LONGEST_MS) return true;
      if (now - changedAt < SETTLE_MS) return false;
      return now - from >= PATIENCE_MS || missing.size === 0;
    };
    while (!isOver()) {
      if ((await this.until(isAll, { ms: LOOK_MS })) === true) return;
      if (seen.size !== count) changedAt = this.#clock.monotonic();
      count = seen.size;
    }
  }

  async #inTime<T>(answer: Promise<T>, what: string): Promise<T> {
    const late = Promise.withResolvers<never>();
    using _limit = this.#clock.after(ANSWER_MS, () => {
      const seconds = ANSWER_MS / 1_000;
      late.reject(new CliError(`the broker has not answered ${what} within ${seconds} s`));
    });
    return await this.#orGone(Promise.race([answer, late.promise]));
  }

  async #orGone<T>(answer: Promise<T>): Promise<T> {
    const gone = this.#session.ended.then((end): never => {
      throw new CliError(`the connection to the broker is over: ${end.message}`);
    });
    gone.catch(() => undefined);
    return Promise.race([answer, gone]);
  }
}

function refuse(denied: readonly string[]): void {
  if (denied.length > 0)
    throw new CliError(
      `the broker refused the subscription to ${denied.join(", ")}; check the permissions of this user`,
    );
}

async function firstSession(
  attempt: (options: ConnectOptions) => Promise<MqttSession>,
  options: ConnectOptions,
): Promise<MqttSession> {
  try {
    return await withProtocolFallback(options, attempt);
  } catch (thrown) {
    throw new CliError(
      `${messageOf(thrown)}; check the address of the broker and the credentials`,
      thrown,
    );
  }
}
