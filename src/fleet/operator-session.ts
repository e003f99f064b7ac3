// Performs: an operator's connection to the broker: what is retained there, what is published, what arrives meanwhile.

import { CliError } from "../cli/cli-error.ts";
import type { Clock } from "../lib/clock.ts";
import { messageOf, reasonOf } from "../lib/errors.ts";
import type { ConnectOptions, MqttLink, MqttMessage, MqttSession } from "../mqtt/mqtt-link.ts";
import { inPackets } from "./fleet-topics.ts";

export interface OperatorOptions {
  readonly link: MqttLink;
  readonly clock: Clock;
  readonly connect: ConnectOptions;
}

/** Retained messages follow a SUBACK at once; after so long without a new topic there are no more. */
const SETTLE_MS = 500;
/** How long to wait for a topic that was named and has shown nothing. */
const PATIENCE_MS = 2_500;
/** After that the topics received so far must do: a client may publish new ones for ever. */
const LONGEST_MS = 10_000;
/** For SUBACK and PUBACK. */
const ANSWER_MS = 30_000;
const GOODBYE_MS = 2_000;
const REFUSED = 0x80;

export class OperatorSession implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #session: MqttSession;
  readonly #latest = new Map<string, Uint8Array>();
  readonly #listeners = new Set<(message: MqttMessage) => void>();

  private constructor(clock: Clock, session: MqttSession) {
    this.#clock = clock;
    this.#session = session;
  }

  /** Throws CliError, exit code 1, when the broker does not take us. */
  static async open({ link, clock, connect }: OperatorOptions): Promise<OperatorSession> {
    const early: MqttMessage[] = [];
    let hear = (message: MqttMessage): void => void early.push(message);
    const attempt = (options: ConnectOptions): Promise<MqttSession> =>
      link.connect(options, (message) => hear(message), new AbortController().signal);
    const session = await firstSession(attempt, connect);
    const operator = new OperatorSession(clock, session);
    hear = (message) => operator.#hear(message);
    for (const message of early) hear(message);
    return operator;
  }

  /** The newest message of every topic that was subscribed to; of retained ones what they hold now. */
  get latest(): ReadonlyMap<string, Uint8Array> {
    return this.#latest;
  }

  /** Resolves when everything retained there has arrived. Throws CliError when the broker refuses a topic. */
  async subscribe(filters: readonly string[]): Promise<void> {
    refuse(await this.subscribeWhatMay(filters));
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
    const exact = filters.filter((filter) => !/[+#]/.test(filter) && !denied.includes(filter));
    await this.#settled(seen, exact);
    return denied;
  }

  /** The filters that the broker refuses. */
  async #subscribe(filters: readonly string[]): Promise<readonly string[]> {
    const denied: string[] = [];
    for (const packet of inPackets(filters)) {
      const codes = await this.#inTime(this.#session.subscribe(packet), "a subscription");
      denied.push(...packet.filter((_, index) => (codes[index] ?? REFUSED) >= REFUSED));
    }
    return denied;
  }

  /** Throws CliError when the broker does not take it. */
  async publish(topic: string, payload: Uint8Array, retain: boolean): Promise<void> {
    if (retain && !this.#session.ack.retainAvailable)
      throw new CliError(
        1,
        "this broker keeps no retained messages, and nothing works without them",
      );
    const { maximumPacketSize = Infinity, maximumQos } = this.#session.ack;
    if (payload.length + topic.length + 16 > maximumPacketSize)
      throw new CliError(1, `${payload.length} bytes are more than this broker takes at once`);
    const qos = maximumQos === 0 ? 0 : 1;
    const sent = this.#session.publish({ topic, payload, qos, retain });
    const code = await this.#inTime(sent, `what was published on ${topic}`);
    if (code < REFUSED) return;
    const hex = code.toString(16).padStart(2, "0");
    throw new CliError(1, `the broker does not let us publish on ${topic} (0x${hex})`);
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
    using _limit =
      ms === undefined ? undefined : this.#clock.after(ms, () => found.resolve(undefined));
    const stop = (): void => found.resolve(undefined);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await this.#orGone(found.promise);
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const limit = new AbortController();
    const ended = this.#session.end().then(() => true);
    const isOver = await Promise.race([
      ended,
      this.#clock.sleep(GOODBYE_MS, limit.signal).then(() => false),
    ]);
    limit.abort();
    if (!isOver) this.#session.abort();
  }

  #hear(message: MqttMessage): void {
    const { topic, payload } = message;
    // That is how a retained message is cleared.
    if (payload.length === 0) this.#latest.delete(topic);
    else this.#latest.set(topic, payload);
    for (const listener of this.#listeners) listener(message);
  }

  /** Only new topics count: a topic with constant traffic must not delay the end. */
  async #settled(seen: ReadonlySet<string>, exact: readonly string[]): Promise<void> {
    const from = this.#clock.monotonic();
    const passed = (): number => this.#clock.monotonic() - from;
    let count = -1;
    const isOver = (): boolean =>
      passed() >= LONGEST_MS ||
      (seen.size === count && (passed() >= PATIENCE_MS || exact.every((topic) => seen.has(topic))));
    while (!isOver()) {
      count = seen.size;
      await this.#orGone(this.#clock.sleep(SETTLE_MS));
    }
  }

  async #inTime<T>(answer: Promise<T>, what: string): Promise<T> {
    const late = Promise.withResolvers<never>();
    using _limit = this.#clock.after(ANSWER_MS, () => {
      const seconds = ANSWER_MS / 1_000;
      late.reject(new CliError(1, `the broker has not answered ${what} within ${seconds} s`));
    });
    return await this.#orGone(Promise.race([answer, late.promise]));
  }

  async #orGone<T>(answer: Promise<T>): Promise<T> {
    const gone = this.#session.ended.then((end): never => {
      throw new CliError(1, `the connection to the broker is over: ${end.message}`);
    });
    gone.catch(() => undefined);
    return Promise.race([answer, gone]);
  }
}

function refuse(denied: readonly string[]): void {
  if (denied.length > 0)
    throw new CliError(1, `the broker does not let us read ${denied.join(", ")}`);
}

async function firstSession(
  attempt: (options: ConnectOptions) => Promise<MqttSession>,
  options: ConnectOptions,
): Promise<MqttSession> {
  try {
    return await attempt(options);
  } catch (thrown) {
    if (reasonOf(thrown, "") === "ProtocolUnsupported" && options.protocolVersion === 5)
      return firstSession(attempt, { ...options, protocolVersion: 4 });
    throw new CliError(
      1,
      `${messageOf(thrown)}; is it the right broker, and does it let us in?`,
      thrown,
    );
  }
}
