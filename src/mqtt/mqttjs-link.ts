// The MQTT library behind MqttLink: one client object for each connection, loaded when the first one is made.

import type { IConnackPacket, MqttClient } from "mqtt";

import { AgentError } from "../lib/errors.ts";
import { clientOptions, MAXIMUM_PACKET_SIZE } from "./client-options.ts";
import type {
  ConnectAck,
  ConnectOptions,
  MqttLink,
  MqttMessage,
  MqttSession,
  SessionEnd,
} from "./mqtt-link.ts";
import { codeOf, Fate, MqttjsSession } from "./mqttjs-session.ts";
import { PacketSizeGuard } from "./packet-size-guard.ts";

/** CONNACK: unsupported protocol version, in 3.1.1 and in 5. */
const PROTOCOL_UNSUPPORTED: readonly number[] = [0x01, 0x84];
const PACKET_TOO_LARGE = 0x95;
/** The peer closed the socket while there was still something to say. */
const CLOSED_BY_PEER: readonly unknown[] = ["ECONNRESET", "EPIPE"];

export class MqttjsLink implements MqttLink {
  async connect(
    options: ConnectOptions,
    onMessage: (message: MqttMessage) => void,
    signal: AbortSignal,
  ): Promise<MqttSession> {
    const { connect } = await import("mqtt");
    if (signal.aborted) throw failed(options, "stopped");
    const client = build(() => connect(options.url, clientOptions(options)), options);
    const fate = new Fate();
    client.on("message", (topic, payload, { qos, retain }) => {
      onMessage({ topic, payload: new Uint8Array(payload), qos: qos === 0 ? 0 : 1, retain });
    });
    watch(client, fate);
    const connack = await firstAnswer(client, { options, fate, signal });
    return new MqttjsSession(client, ackOf(connack, options.protocolVersion), fate);
  }
}

/** A URL the library cannot use throws at once. */
function build(make: () => MqttClient, options: ConnectOptions): MqttClient {
  try {
    return make();
  } catch (error) {
    throw failed(options, error);
  }
}

/** Notes what ends the connection, and ends it where the library would leave it open. */
function watch(client: MqttClient, fate: Fate): void {
  const guard = new PacketSizeGuard(MAXIMUM_PACKET_SIZE);
  client.stream.on("data", (chunk: Uint8Array) => {
    const size = guard.feed(chunk);
    if (size === undefined) return;
    const message = `a packet of ${size} bytes is over ${MAXIMUM_PACKET_SIZE}`;
    fate.note({ by: "us", code: PACKET_TOO_LARGE, message });
    client.stream.destroy();
  });
  client.stream.on("error", (error: Error) => fate.note(endOf(error)));
  client.on("disconnect", (packet) => {
    const code = packet.reasonCode ?? 0;
    fate.note({ by: "broker", code, message: `the broker sent DISCONNECT ${hex(code)}` });
    client.stream.destroy();
  });
  client.on("error", (error) => {
    fate.note(endOf(error));
    client.stream.destroy();
  });
  client.on("close", () => fate.close());
}

function endOf(error: Error): SessionEnd {
  const code = codeOf(error);
  if (code !== undefined) return { by: "us", code, message: error.message };
  const byPeer = "code" in error && CLOSED_BY_PEER.includes(error.code);
  return { by: byPeer ? "broker" : "network", message: error.message };
}

interface Attempt {
  readonly options: ConnectOptions;
  readonly fate: Fate;
  readonly signal: AbortSignal;
}

/** CONNACK, or an AgentError after which nothing of the attempt is left. */
function firstAnswer(client: MqttClient, attempt: Attempt): Promise<IConnackPacket> {
  const { options, fate, signal } = attempt;
  return new Promise<IConnackPacket>((resolve, reject) => {
    const give = (error: AgentError): void => {
      signal.removeEventListener("abort", stop);
      client.stream.destroy();
      reject(error);
    };
    const stop = (): void => give(failed(options, "stopped"));
    signal.addEventListener("abort", stop, { once: true });
    client.once("connect", (packet) => {
      signal.removeEventListener("abort", stop);
      resolve(packet);
    });
    client.once("error", (error) => give(refusal(options, error)));
    void fate.ended.then((end) => give(failed(options, `${end.message} before CONNACK`)));
  });
}

function refusal(options: ConnectOptions, error: Error): AgentError {
  const code = codeOf(error);
  if (code === undefined) return failed(options, error);
  const reason = PROTOCOL_UNSUPPORTED.includes(code) ? "ProtocolUnsupported" : "ConnectRefused";
  const message = `broker ${brokerOf(options)}: ${error.message} (CONNACK code ${hex(code)})`;
  return new AgentError({ reason, message, cause: error });
}

function failed(options: ConnectOptions, why: unknown): AgentError {
  const text = why instanceof Error ? why.message : String(why);
  return new AgentError({
    reason: "ConnectFailed",
    message: `no connection to broker ${brokerOf(options)}: ${text}`,
    cause: why,
  });
}

/** The URL without a user and password it may hold. */
function brokerOf({ url }: ConnectOptions): string {
  const { protocol, host } = URL.parse(url) ?? { protocol: "", host: url };
  return `${protocol}//${host}`;
}

function ackOf(packet: IConnackPacket, protocolVersion: 4 | 5): ConnectAck {
  const says = packet.properties;
  return {
    sessionPresent: packet.sessionPresent,
    receiveMaximum: says?.receiveMaximum ?? 65_535,
    maximumQos: qosOf(says?.maximumQoS),
    retainAvailable: says?.retainAvailable !== false,
    maximumPacketSize: says?.maximumPacketSize,
    protocolVersion,
  };
}

function qosOf(maximum: number | undefined): 0 | 1 | 2 {
  return maximum === 0 || maximum === 1 ? maximum : 2;
}

function hex(code: number): string {
  return `0x${code.toString(16).padStart(2, "0")}`;
}
