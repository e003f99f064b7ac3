// The test's own eyes and hands on a broker.

import { connectAsync, type MqttClient } from "mqtt";

export interface BrokerMessage {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
}

/** PEM texts. */
export interface BrokerTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Messages of one subscription, in the order of their arrival. */
export interface Collector {
  readonly messages: readonly BrokerMessage[];
  /** The first message, from the beginning, for which `matches` is true. */
  next(matches: (message: BrokerMessage) => boolean, timeout?: number): Promise<BrokerMessage>;
}

export class BrokerClient implements AsyncDisposable {
  readonly #client: MqttClient;
  readonly #listeners = new Set<(message: BrokerMessage) => void>();

  private constructor(client: MqttClient) {
    this.#client = client;
    client.on("error", () => undefined); // It reconnects; a test sees what it misses by its own bound.
    client.on("message", (topic, payload, packet) => {
      const message = { topic, payload: payload.toString(), retain: packet.retain };
      for (const listener of this.#listeners) listener(message);
    });
  }

  static async connect(url: string, tls: BrokerTls = {}): Promise<BrokerClient> {
    const options = { protocolVersion: 5, reconnectPeriod: 200, connectTimeout: 30_000 } as const;
    return new BrokerClient(await connectAsync(url, { ...options, ...tls }));
  }

  /** QoS 1; an object is sent as JSON. */
  async publish(
    topic: string,
    payload: string | Uint8Array | object,
    options: { readonly retain?: boolean } = {},
  ): Promise<void> {
    const body =
      typeof payload === "string" || payload instanceof Uint8Array
        ? payload
        : JSON.stringify(payload);
    await this.#client.publishAsync(topic, typeof body === "string" ? body : Buffer.from(body), {
      qos: 1,
      retain: options.retain === true,
    });
  }

  /**
   * The retained payload of one topic, or undefined when there is none.
   * Certain without waiting: a broker sends what is retained before a message published after the SUBACK.
   */
  async retained(topic: string): Promise<string | undefined> {
    const probe = `harness/${crypto.randomUUID()}`;
    let found: string | undefined;
    const seen = Promise.withResolvers<void>();
    const listener = (message: BrokerMessage): void => {
      if (message.topic === topic && message.retain) found = message.payload;
      if (message.topic === probe) seen.resolve();
    };
    this.#listeners.add(listener);
    try {
      await this.#client.subscribeAsync(probe, { qos: 1 });
      // Retain-as-published off: a retained message has the flag only when the SUBSCRIBE brings it.
      await this.#client.subscribeAsync(topic, { qos: 1, rh: 0 });
      await this.publish(probe, "");
      await withTimeout(seen.promise, 30_000, `reading the retained message of ${topic}`);
      return found;
    } finally {
      this.#listeners.delete(listener);
      await this.#client.unsubscribeAsync([probe, topic]);
    }
  }

  /** The same, parsed; `undefined` when nothing is retained. */
  async retainedJSON(topic: string): Promise<unknown> {
    const text = await this.retained(topic);
    return text === undefined || text === "" ? undefined : (JSON.parse(text) as unknown);
  }

  /** Subscribes and keeps everything from now on, what is retained first. */
  async collect(filter: string): Promise<Collector> {
    const messages: BrokerMessage[] = [];
    const waiting = new Set<() => void>();
    this.#listeners.add((message) => {
      if (!matchesFilter(filter, message.topic)) return;
      messages.push(message);
      for (const wake of waiting) wake();
    });
    await this.#client.subscribeAsync(filter, { qos: 1 });
    return {
      messages,
      next: async (matches, timeout = 60_000) => {
        const found = Promise.withResolvers<BrokerMessage>();
        const look = (): void => {
          const message = messages.find(matches);
          if (message !== undefined) found.resolve(message);
        };
        waiting.add(look);
        look();
        try {
          return await withTimeout(
            found.promise,
            timeout,
            () => `waiting on ${filter}; seen: ${JSON.stringify(messages.slice(-5))}`,
          );
        } finally {
          waiting.delete(look);
        }
      },
    };
  }

  async close(): Promise<void> {
    await this.#client.endAsync(true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** MQTT's own rule for `+` and `#`. */
export function matchesFilter(filter: string, topic: string): boolean {
  const wanted = filter.split("/");
  const levels = topic.split("/");
  for (const [index, level] of wanted.entries()) {
    if (level === "#") return true;
    if (levels[index] === undefined) return false;
    if (level !== "+" && level !== levels[index]) return false;
  }
  return wanted.length === levels.length;
}

async function withTimeout<T>(
  promise: Promise<T>,
  ms: number,
  what: string | (() => string),
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const text = typeof what === "string" ? what : what();
    late.reject(new Error(`no answer within ${ms} ms: ${text}`));
  }, ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
