// Performs: counts the packet bytes of the connection to the broker, in both directions, by purpose.

import { parseTopic, type TopicType } from "../../protocol/mqtt-topics.ts";
import type { MqttLink, PacketSize } from "../../mqtt/mqtt-link.ts";

export interface ByteCount {
  readonly in: number;
  readonly out: number;
}

const CLASSES = {
  NodeState: "state",
  NodeDesired: "desired",
  NodeReported: "reported",
  PodReported: "pod",
  NodeEvent: "event",
  NodeCommand: "command",
  NodeResponse: "response",
  NodeSession: "session",
  ContainerLog: "log",
  GroupDesired: "desired",
  GroupRollout: "desired",
  GroupCommand: "command",
  Blob: "blob",
  Trust: "trust",
} as const satisfies Readonly<Record<TopicType, string>>;

/** `other`: connecting, subscribing, acknowledging, pings, and foreign topics. */
export type ByteClass = (typeof CLASSES)[TopicType] | "other";

/** MQTT packet bytes since the agent started, without TCP and TLS; classes without traffic are absent. */
export type LinkBytes = Readonly<Partial<Record<ByteClass, ByteCount>>>;

/** Class of a topic below `root`; undefined = the packet is no PUBLISH. */
export function classOf(root: string, topic: string | undefined): ByteClass {
  if (topic === undefined) return "other";
  const parsed = parseTopic(root, topic);
  if (parsed !== undefined) return CLASSES[parsed.type];
  // An answer may go to any topic below the node's own.
  return topic.includes("/response/") ? "response" : "other";
}

export class LinkMeter {
  readonly #root: string;
  readonly #counts = new Map<ByteClass, ByteCount>();

  /** `root` = `mqtt.topicRoot`. */
  constructor(root: string) {
    this.#root = root;
  }

  count({ direction, bytes, topic }: PacketSize): void {
    const name = classOf(this.#root, topic);
    const before = this.#counts.get(name) ?? { in: 0, out: 0 };
    this.#counts.set(name, { ...before, [direction]: before[direction] + bytes });
  }

  bytes(): LinkBytes {
    return Object.fromEntries(this.#counts);
  }

  /** The same link with every packet counted. */
  metered(link: MqttLink): MqttLink {
    const onPacket = (packet: PacketSize): void => this.count(packet);
    return {
      connect: (options, onMessage, signal) =>
        link.connect({ ...options, onPacket }, onMessage, signal),
    };
  }
}
