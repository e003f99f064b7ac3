// The operator's way to a node, over a broker in memory or a real mosquitto; time is virtual with both.

import type { MqttConfig } from "../../../src/config/config.ts";
import { AgentError } from "../../../src/lib/errors.ts";
import type { MqttLink, MqttMessage, MqttSession } from "../../../src/mqtt/mqtt-link.ts";
import { MqttjsLink } from "../../../src/mqtt/mqttjs-link.ts";
import { VirtualClock } from "../../fakes/fake-clock.ts";
import type { FakeBroker } from "../../fakes/fake-mqtt-broker.ts";
import { awaited, SocketClock } from "../../fakes/socket-clock.ts";
import { BrokerClient, type Collector } from "../../harness/broker-client.ts";
import { eventually } from "../../harness/eventually.ts";
import { Mosquitto } from "../mqtt/mosquitto.ts";
import { breachesOf, BROKERS, brokerOf, type BrokerKind } from "./strict-worlds.ts";

export interface Heard {
  readonly topic: string;
  readonly text: string;
}

/** One broker, and what a test can do with it. */
export interface Door extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly line: Line;
  /** The agent's, over `line`. */
  readonly link: MqttLink;
  readonly mqtt: Partial<MqttConfig>;
  /** Publishes; the node has heard it if it is there. */
  send(topic: string, payload: string, retain?: boolean): Promise<void>;
  /** Everything the broker took from the node, in order. */
  heard(): Promise<readonly Heard[]>;
  /** The broker loses the node's session while that is away. */
  forget(): Promise<void>;
  breaches(): readonly unknown[];
}

/** The node's line to its broker: can be cut, and notes what goes over it. */
export class Line {
  readonly published: MqttMessage[] = [];
  /** Messages that have come to the node. */
  received = 0;
  /** Nothing gets through. */
  down = false;
  #live: MqttSession | undefined;

  get isLive(): boolean {
    return this.#live !== undefined;
  }

  over(link: MqttLink): MqttLink {
    return {
      connect: async (options, onMessage, signal) => {
        if (this.down) throw new AgentError({ reason: "ConnectFailed", message: "no network" });
        const hear = (message: MqttMessage): void => {
          this.received += 1;
          onMessage(message);
        };
        const real = await link.connect(options, hear, signal);
        this.#live = real;
        void real.ended.then(() => (this.#live = undefined));
        return this.#watched(real);
      },
    };
  }

  /** The network is gone until `down` is unset. */
  async cut(): Promise<void> {
    this.down = true;
    const session = this.#live;
    session?.abort();
    await session?.ended;
  }

  #watched(real: MqttSession): MqttSession {
    return {
      ack: real.ack,
      ended: real.ended,
      subscribe: (filters) => real.subscribe(filters),
      unsubscribe: (filters) => real.unsubscribe(filters),
      publish: (message) => {
        this.published.push(message);
        return real.publish(message);
      },
      end: () => real.end(),
      abort: () => real.abort(),
    };
  }
}

class FakeDoor implements Door {
  readonly clock = new VirtualClock();
  readonly line = new Line();
  readonly mqtt = {};
  readonly link: MqttLink;
  readonly #broker: FakeBroker;
  readonly #kind: BrokerKind;

  constructor(kind: BrokerKind) {
    this.#kind = kind;
    this.#broker = brokerOf(kind, this.clock);
    this.link = this.line.over(this.#broker.link());
  }

  async send(topic: string, payload: string, retain = false): Promise<void> {
    this.#broker.publish(topic, payload, retain);
    // Both copies, the later one too.
    await this.clock.advance(100);
  }

  heard(): Promise<readonly Heard[]> {
    const own = this.#broker.publications.filter(({ clientId }) => clientId !== "");
    const decoder = new TextDecoder();
    return Promise.resolve(
      own.map(({ topic, payload }) => ({ topic, text: decoder.decode(payload) })),
    );
  }

  async forget(): Promise<void> {
    if (this.#kind.personality === "plain") {
      this.#broker.stop(true);
      return this.#broker.start();
    }
    // More than a strict broker keeps for one that is away.
    for (let count = 0; count <= 100; count += 1)
      await this.send("agent/v1/node/pi-1/command", "not for long");
  }

  breaches(): readonly unknown[] {
    return breachesOf(this.#broker);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}

class MosquittoDoor implements Door {
  readonly clock = new SocketClock();
  readonly line = new Line();
  readonly mqtt: Partial<MqttConfig>;
  readonly link: MqttLink;
  readonly #broker: Mosquitto;
  readonly #client: BrokerClient;
  readonly #all: Collector;
  #marks = 0;

  private constructor(
    broker: Mosquitto,
    protocolVersion: 4 | 5,
    { client, all }: { readonly client: BrokerClient; readonly all: Collector },
  ) {
    this.#broker = broker;
    this.#client = client;
    this.#all = all;
    this.mqtt = { url: broker.url, protocolVersion };
    this.link = this.line.over(awaited(new MqttjsLink(this.clock), this.clock));
  }

  static async open(protocolVersion: 4 | 5): Promise<MosquittoDoor> {
    const broker = await Mosquitto.start(["allow_anonymous true", "persistence false"]);
    const client = await BrokerClient.connect(broker.url);
    const all = await client.collect("agent/v1/node/pi-1/#");
    return new MosquittoDoor(broker, protocolVersion, { client, all });
  }

  async send(topic: string, payload: string, retain = false): Promise<void> {
    const { line } = this;
    const { received } = line;
    await this.#client.publish(topic, payload, { retain });
    if (line.isLive) await eventually("the node hears it", () => line.received > received);
    await this.clock.settle();
  }

  async heard(): Promise<readonly Heard[]> {
    // QoS 0 may still be on its way; what is published afterwards comes afterwards.
    await Bun.sleep(20);
    this.#marks += 1;
    const mark = `agent/v1/node/pi-1/mark/${this.#marks}`;
    await this.#client.publish(mark, "");
    await this.#all.next(({ topic }) => topic === mark);
    const own = ["desired", "command", "mark"].map((word) => `agent/v1/node/pi-1/${word}`);
    return this.#all.messages
      .filter(({ topic }) => !own.some((one) => topic.startsWith(one)))
      .map(({ topic, payload }) => ({ topic, text: payload }));
  }

  async forget(): Promise<void> {
    await this.#broker.stop();
    await this.#broker.start();
    // The test's own client comes back by itself.
    await this.#client.publish("agent/v1/nobody", "");
  }

  breaches(): readonly unknown[] {
    return [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
    await this.#broker[Symbol.asyncDispose]();
  }
}

export interface DoorKind {
  readonly kind: string;
  /** Whether it delivers everything twice. */
  readonly twice: boolean;
  readonly open: () => Promise<Door>;
}

export const DOORS: readonly DoorKind[] = [
  ...BROKERS.map((kind) => ({
    kind: kind.kind,
    twice: kind.personality !== "plain",
    open: () => Promise.resolve(new FakeDoor(kind)),
  })),
  ...([5, 4] as const).map((protocolVersion) => ({
    kind: `mosquitto with MQTT ${protocolVersion === 5 ? "5" : "3.1.1"}`,
    twice: false,
    open: () => MosquittoDoor.open(protocolVersion),
  })),
];
