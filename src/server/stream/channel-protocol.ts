// How Kubernetes' WebSocket subprotocols put several streams into one connection: each message begins with the number of
// its channel. k8s: remotecommand constants, wsstream

import { parseJson, isJsonObject } from "../../lib/json.ts";
import type { StreamVerb } from "./stream-request.ts";

export interface ChannelProtocol {
  /** As it is negotiated; undefined = the client has asked for none. */
  readonly name: string | undefined;
  /** Text messages: the channel as a digit, the content as base64. */
  readonly isBase64: boolean;
  /** The error channel has a Status as JSON; before it was a text. */
  readonly hasStatus: boolean;
  /** Channel 255 ends the channel that it names. */
  readonly hasClose: boolean;
}

/** Of a command or an attached container. */
export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** The bytes of a SPDY connection in binary messages. */
export const TUNNEL = "SPDY/3.1+portforward.k8s.io";

const NO_PROTOCOL = { name: undefined, isBase64: false, hasStatus: false, hasClose: false };
const FORWARD: readonly ChannelProtocol[] = [
  { ...NO_PROTOCOL, name: TUNNEL },
  { ...NO_PROTOCOL, name: "v4.channel.k8s.io", hasStatus: true },
  { ...NO_PROTOCOL, name: "v4.base64.channel.k8s.io", isBase64: true, hasStatus: true },
  { ...NO_PROTOCOL, name: "portforward.k8s.io" },
];
const COMMAND: readonly ChannelProtocol[] = [
  { ...NO_PROTOCOL, name: "v5.channel.k8s.io", hasStatus: true, hasClose: true },
  { ...NO_PROTOCOL, name: "v4.channel.k8s.io", hasStatus: true },
  { ...NO_PROTOCOL, name: "v4.base64.channel.k8s.io", isBase64: true, hasStatus: true },
  { ...NO_PROTOCOL, name: "channel.k8s.io" },
  { ...NO_PROTOCOL, name: "base64.channel.k8s.io", isBase64: true },
];

/** The first that both know; `offered`: the header, undefined = absent; undefined = they have none in common. */
export function chooseProtocol(
  verb: StreamVerb,
  offered: string | undefined,
): ChannelProtocol | undefined {
  const names = (offered ?? "").split(",").map((name) => name.trim());
  if (names.every((name) => name === "")) return NO_PROTOCOL;
  const known = verb === "portforward" ? FORWARD : COMMAND;
  return names
    .map((name) => known.find((one) => one.name === name))
    .find((one) => one !== undefined);
}

export function supportedProtocols(verb: StreamVerb): string {
  const known = verb === "portforward" ? FORWARD : COMMAND;
  return known.map(({ name }) => name).join(", ");
}

export interface ChannelMessage {
  readonly channel: number;
  readonly data: Uint8Array;
}

/** undefined = it names no channel. */
export function readMessage(
  { isBase64 }: ChannelProtocol,
  message: Uint8Array,
): ChannelMessage | undefined {
  const [first] = message;
  if (first === undefined) return undefined;
  const rest = message.subarray(1);
  if (!isBase64) return { channel: first, data: rest };
  const channel = first - 48;
  if (channel < 0 || channel > 9) return undefined;
  return { channel, data: Buffer.from(new TextDecoder().decode(rest), "base64") };
}

/** Text for a base64 protocol. */
export function writeMessage(
  { isBase64 }: ChannelProtocol,
  channel: number,
  data: Uint8Array,
): Uint8Array | string {
  if (isBase64) return `${channel}${Buffer.from(data).toString("base64")}`;
  const message = Buffer.allocUnsafe(1 + data.length);
  message[0] = channel;
  message.set(data, 1);
  return message;
}

/** The Status with which a command ends, as an older protocol has it: the message of a failure, nothing of a success. */
export function oldStatus(status: Uint8Array): Uint8Array {
  const value = parseJson(new TextDecoder().decode(status));
  if (!isJsonObject(value)) return status;
  const { status: outcome, message } = value;
  if (outcome === "Success" || typeof message !== "string") return new Uint8Array();
  return new TextEncoder().encode(message);
}
