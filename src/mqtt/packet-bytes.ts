// Sizes of MQTT packets in bytes, computed without encoding them again.

import type { Packet } from "mqtt";

import type { ConnectOptions, PacketSize } from "./mqtt-link.ts";
import { byteLength } from "../lib/short-text.ts";

/** Of a received packet: the library keeps its length field. */
export function receivedSize(packet: Packet): PacketSize {
  const bytes = wholeBytes(Math.max(0, packet.length ?? 0));
  return { direction: "in", bytes, ...topicOf(packet) };
}

/** Of a packet to be written, except CONNECT: see `connectSize`. */
export function sentSize(packet: Packet, version: 4 | 5): PacketSize {
  const bytes = wholeBytes(remainingBytes(packet, version));
  return { direction: "out", bytes, ...topicOf(packet) };
}

/** Of the CONNECT that `clientOptions` describes. */
export function connectSize(options: ConnectOptions): PacketSize {
  const { protocolVersion: version, clientId, username, password, will } = options;
  // Protocol name and level, flags, keep-alive; with MQTT 5 session expiry, Receive Maximum, Maximum Packet Size.
  const header = 10 + (version === 5 ? 1 + 5 + 3 + 5 : 0);
  const willProperties = version === 5 ? 1 + 5 : 0;
  const texts = [clientId, username, password, will?.topic].filter((text) => text !== undefined);
  const body = sum(texts.map((text) => 2 + byteLength(text)));
  const last = will === undefined ? 0 : willProperties + 2 + will.payload.length;
  return { direction: "out", bytes: wholeBytes(header + body + last) };
}

function topicOf(packet: Packet): { readonly topic?: string } {
  return packet.cmd === "publish" ? { topic: packet.topic } : {};
}

function remainingBytes(packet: Packet, version: 4 | 5): number {
  // Only responses to commands have properties: correlation data of a few bytes.
  const properties = version === 5 ? 1 : 0;
  const { cmd } = packet;
  if (cmd === "publish") return publishBytes(packet, properties);
  if (cmd === "subscribe") {
    const filters = packet.subscriptions.map(({ topic }) => 2 + byteLength(topic) + 1);
    return 2 + properties + sum(filters);
  }
  if (cmd === "unsubscribe")
    return 2 + properties + sum(packet.unsubscriptions.map((topic) => 2 + byteLength(topic)));
  if (cmd === "puback") return version === 5 && packet.reasonCode !== 0 ? 4 : 2;
  if (cmd === "disconnect") return version === 5 ? 2 : 0;
  return 0;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}

function publishBytes(
  { topic, payload, qos, properties }: Extract<Packet, { readonly cmd: "publish" }>,
  emptyProperties: number,
): number {
  const { correlationData } = properties ?? {};
  const correlation = correlationData === undefined ? 0 : 3 + correlationData.length;
  const body = typeof payload === "string" ? byteLength(payload) : payload.length;
  return 2 + byteLength(topic) + (qos > 0 ? 2 : 0) + emptyProperties + correlation + body;
}

/** With type and length field. */
function wholeBytes(remaining: number): number {
  if (remaining < 128) return 2 + remaining;
  if (remaining < 128 ** 2) return 3 + remaining;
  return remaining < 128 ** 3 ? 4 + remaining : 5 + remaining;
}
