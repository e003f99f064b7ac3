// Performs: counts what the connection to the broker costs: packet bytes of both directions, by what they were for.

import { parseTopic, type Topic } from "../../protocol/mqtt-topics.ts";
import type { MqttLink, PacketSize } from "../../mqtt/mqtt-link.ts";

/** `other`: connecting, subscribing, acknowledging, pings, and topics that are none of ours. */
export type ByteClass =
  | "state"
  | "desired"
  | "reported"
  | "pod"
  | "event"
  | "command"
  | "response"
  | "log"
  | "blob"
  | "trust"
  | "other";

export interface ByteCount {
  readonly in: number;
  readonly out: number;
}

/** MQTT packet bytes since the agent started, without TCP and TLS; classes without traffic are absent. */
export type LinkBytes = Readonly<Partial<Record<ByteClass, ByteCount>>>;

const CLASSES: Readonly<Record<Topic["type"], ByteClass>> = {
  NodeState: "state",
  NodeDesired: "desired",
  NodeReported: "reported",
  PodReported: "pod",
  NodeEvent: "event",
  NodeCommand: "command",
  NodeResponse: "response",
  ContainerLog: "log",
  GroupDesired: "desired",
  GroupRollout: "desired",
  GroupCommand: "command",
  Blob: "blob",
  Trust: "trust",
};

/** Class of a topic below `root`; undefined = no PUBLISH. */
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
    const so = this.#counts.get(name) ?? { in: 0, out: 0 };
    this.#counts.set(name, { ...so, [direction]: so[direction] + bytes });
  }

  bytes(): LinkBytes {
    return Object.fromEntries(this.#counts);
  }

  /** The same link, every packet of it counted. */
  metered(link: MqttLink): MqttLink {
    const onPacket = (packet: PacketSize): void => this.count(packet);
    return {
      connect: (options, onMessage, signal) =>
        link.connect({ ...options, onPacket }, onMessage, signal),
    };
  }
}
