// Stands between a node and a broker in memory: encodes every packet as the line would carry it, and pings as the library does.

import { generate, type Packet } from "mqtt-packet";

import type { Clock, Monotonic } from "../../src/lib/clock.ts";
import { bufferOf, RECEIVE_MAXIMUM } from "../../src/mqtt/mqttjs-options.ts";
import type {
  ConnectAck,
  ConnectOptions,
  MqttLink,
  MqttMessage,
  MqttSession,
  PacketSize,
} from "../../src/mqtt/mqtt-link.ts";
import { MAXIMUM_PACKET_SIZE } from "../../src/mqtt/packet-guard.ts";

/** What a broker of many properties puts into CONNACK. */
const CONNACK = {
  sessionExpiryInterval: 604_800,
  receiveMaximum: 100,
  maximumQoS: 1,
  retainAvailable: true,
  maximumPacketSize: 149_504,
  topicAliasMaximum: 8,
  wildcardSubscriptionAvailable: true,
  subscriptionIdentifiersAvailable: false,
  sharedSubscriptionAvailable: true,
  serverKeepAlive: 1200,
};

export function measured(link: MqttLink, clock: Clock): MqttLink {
  return {
    connect: async (options, onMessage, signal) => {
      const line = new Line(options);
      line.out(connectPacket(options));
      const hear = (message: MqttMessage): void => {
        line.in(publishPacket(message));
        if (message.qos === 1) line.out({ cmd: "puback", messageId: 1, reasonCode: 0 });
        onMessage(message);
      };
      const session = await link.connect(options, hear, signal);
      line.in(connackPacket(session.ack));
      pingWhenStill(session, { line, clock, keepAlive: options.keepAliveSeconds * 1000 });
      return measuredSession(session, line);
    },
  };
}

class Line {
  readonly #options: ConnectOptions;
  onOut: () => void = () => undefined;

  constructor(options: ConnectOptions) {
    this.#options = options;
  }

  out(packet: Packet): void {
    this.#count("out", packet);
    this.onOut();
  }

  in(packet: Packet): void {
    this.#count("in", packet);
  }

  #count(direction: PacketSize["direction"], packet: Packet): void {
    const { protocolVersion, onPacket } = this.#options;
    const bytes = generate(packet, { protocolVersion }).length;
    onPacket?.({ direction, bytes, ...(packet.cmd === "publish" ? { topic: packet.topic } : {}) });
  }
}

function measuredSession(session: MqttSession, line: Line): MqttSession {
  const rap = session.ack.protocolVersion === 5 ? { rap: true } : {};
  return {
    ack: session.ack,
    ended: session.ended,
    subscribe: async (filters) => {
      const subscriptions = filters.map((topic) => ({ topic, qos: 1 as const, ...rap }));
      line.out({ cmd: "subscribe", messageId: 1, subscriptions });
      const granted = await session.subscribe(filters);
      line.in({ cmd: "suback", messageId: 1, granted: [...granted] });
      return granted;
    },
    unsubscribe: async (filters) => {
      line.out({ cmd: "unsubscribe", messageId: 1, unsubscriptions: [...filters] });
      await session.unsubscribe(filters);
      line.in({ cmd: "unsuback", messageId: 1, granted: filters.map(() => 0) });
    },
    publish: async (message) => {
      line.out(publishPacket(message));
      const code = await session.publish(message);
      if (message.qos === 1) line.in({ cmd: "puback", messageId: 1, reasonCode: code });
      return code;
    },
    end: () => {
      line.out({ cmd: "disconnect" });
      return session.end();
    },
    abort: () => session.abort(),
  };
}

interface Pinging {
  readonly line: Line;
  readonly clock: Clock;
  /** Ms; 0 = none. */
  readonly keepAlive: number;
}

/** A packet of ours makes a ping needless for one more keep-alive. */
function pingWhenStill(session: MqttSession, { line, clock, keepAlive }: Pinging): void {
  if (keepAlive === 0) return;
  let quietSince: Monotonic = clock.monotonic();
  line.onOut = () => void (quietSince = clock.monotonic());
  let isOver = false;
  void session.ended.then(() => (isOver = true));
  const look = (): void => {
    if (isOver) return;
    // Sums of fractions of a millisecond need not come out even.
    if (clock.monotonic() - quietSince >= keepAlive - 1) {
      line.out({ cmd: "pingreq" });
      line.in({ cmd: "pingresp" });
    }
    clock.after(quietSince + keepAlive - clock.monotonic(), look);
  };
  look();
}

export function connectPacket(options: ConnectOptions): Packet {
  const { clientId, protocolVersion, keepAliveSeconds, username, password, will } = options;
  const isFive = protocolVersion === 5;
  return {
    cmd: "connect",
    protocolId: "MQTT",
    protocolVersion,
    clean: false,
    clientId,
    keepalive: keepAliveSeconds,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password: Buffer.from(password) }),
    ...(will === undefined
      ? {}
      : {
          will: {
            topic: will.topic,
            payload: bufferOf(will.payload),
            qos: will.qos,
            retain: will.retain,
            ...(isFive ? { properties: { willDelayInterval: will.delaySeconds } } : {}),
          },
        }),
    ...(isFive
      ? {
          properties: {
            sessionExpiryInterval: options.sessionExpirySeconds,
            receiveMaximum: RECEIVE_MAXIMUM,
            maximumPacketSize: MAXIMUM_PACKET_SIZE,
          },
        }
      : {}),
  };
}

function connackPacket({ sessionPresent, protocolVersion }: ConnectAck): Packet {
  if (protocolVersion === 4) return { cmd: "connack", sessionPresent, returnCode: 0 };
  return { cmd: "connack", sessionPresent, reasonCode: 0, properties: CONNACK };
}

function publishPacket({ topic, payload, qos, retain }: MqttMessage): Packet {
  const body = { topic, payload: bufferOf(payload), qos, retain, dup: false };
  return { cmd: "publish", ...body, ...(qos === 0 ? {} : { messageId: 1 }) };
}
