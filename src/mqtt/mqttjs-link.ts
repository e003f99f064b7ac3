// Performs: implements MqttLink with the MQTT library: one client object per connection. The library is loaded by the
// first one.

import { connect as connectTCP, isIP, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTLS, TLSSocket, type ConnectionOptions } from "node:tls";
import type { IClientOptions, IConnackPacket, IPublishPacket, MqttClient } from "mqtt";
import type { ClientOptions } from "ws";

import { deadline, type Clock } from "../lib/clock.ts";
import { errorCode, type AgentError } from "../lib/errors.ts";
import { withoutUndefined } from "../lib/json.ts";
import { clientOptions } from "./mqttjs-options.ts";
import { codeOf, codeText, failed, refusal } from "./connect-failure.ts";
import type {
  ConnectAck,
  ConnectOptions,
  MqttLink,
  MqttMessage,
  MqttSession,
  SessionEnd,
} from "./mqtt-link.ts";
import { ConnectionEnd, MqttjsSession } from "./mqttjs-session.ts";
import { connectSize, receivedSize, sentSize } from "./packet-bytes.ts";
import { PacketGuard, MAXIMUM_PACKET_SIZE } from "./packet-guard.ts";
import { TlsTicket } from "./tls-session.ts";
import { FrameCounter } from "./websocket-frames.ts";

/** Bytes that wait for a broker that does not read. */
const MAX_UNSENT = 4 * 1024 * 1024;
/** The peer closed the socket during a write. */
const CLOSED_BY_PEER: readonly string[] = ["ECONNRESET", "EPIPE"];

type LinkClock = Pick<Clock, "monotonic" | "after">;

export class MqttjsLink implements MqttLink {
  readonly #ticket = new TlsTicket();
  readonly #clock: LinkClock;
  readonly #headers: Readonly<Record<string, string>>;

  /** `userAgent`: what a broker behind WebSockets, or a proxy before it, sees; absent = nothing. */
  constructor(clock: LinkClock, userAgent?: string) {
    this.#clock = clock;
    this.#headers = userAgent === undefined ? {} : { "User-Agent": userAgent };
  }

  async connect(
    options: ConnectOptions,
    onMessage: (message: MqttMessage) => void,
    signal: AbortSignal,
  ): Promise<MqttSession> {
    const { connect } = await import("mqtt");
    const { WebSocket } = await import("ws");
    if (signal.aborted) throw failed(options, "stopped");
    const session = this.#ticket.take(options);
    let socket: Duplex | undefined;
    const createWebsocket: IClientOptions["createWebsocket"] = (url, protocols, { wsOptions }) => {
      const given = wsOptions as ClientOptions;
      socket = openSocket(new URL(url), wsOptions as ConnectionOptions);
      const createConnection = () => socket;
      // Without compression: a few bytes would inflate to whatever the broker likes.
      return new WebSocket(url, protocols, {
        ...given,
        headers: this.#headers,
        createConnection,
        perMessageDeflate: false,
      });
    };
    const client = build(
      () => connect(options.url, { ...clientOptions(options, session), createWebsocket }),
      options,
    );
    this.#ticket.watch(client.stream, options);
    const end = new ConnectionEnd();
    client.on("message", (topic, payload, { qos, retain, properties }) => {
      const message = { topic, payload: new Uint8Array(payload), retain };
      onMessage({ ...message, qos: qos === 0 ? 0 : 1, ...responseProperties(properties) });
    });
    watch(client, end, { ...options, socket, clock: this.#clock });
    countPackets(client, options);
    let connected = false;
    try {
      const connack = await awaitConnack(client, { options, end, signal, clock: this.#clock });
      connected = true;
      return new MqttjsSession(client, ackOf(connack, options.protocolVersion), end);
    } finally {
      if (session !== undefined) this.#ticket.used(connected);
    }
  }
}

function countPackets(client: MqttClient, options: ConnectOptions): void {
  const { onPacket, protocolVersion } = options;
  if (onPacket === undefined) return;
  // The library writes CONNECT before a listener can be added.
  onPacket(connectSize(options));
  client.on("packetsend", (packet) => onPacket(sentSize(packet, protocolVersion)));
  client.on("packetreceive", (packet) => onPacket(receivedSize(packet)));
}

function responseProperties(
  properties: IPublishPacket["properties"],
): Pick<MqttMessage, "responseTopic" | "correlationData"> {
  const { responseTopic, correlationData } = properties ?? {};
  return withoutUndefined({
    responseTopic,
    correlationData: correlationData && new Uint8Array(correlationData),
  });
}

/** The library throws for an unusable URL. */
function build(make: () => MqttClient, options: ConnectOptions): MqttClient {
  try {
    return make();
  } catch (error) {
    throw failed(options, error);
  }
}

interface Watched extends Pick<ConnectOptions, "receiveRate"> {
  /** Absent = MQTT without WebSocket. */
  readonly socket: Duplex | undefined;
  readonly clock: LinkClock;
}

/** Records why the connection ends, and closes it where the library would leave it open. */
function watch(client: MqttClient, end: ConnectionEnd, watched: Watched): void {
  const { receiveRate, socket, clock } = watched;
  const guard = new PacketGuard({ size: MAXIMUM_PACKET_SIZE, rate: receiveRate });
  const judge = (fault: SessionEnd | undefined): void => {
    if (fault === undefined) return;
    end.note(fault);
    client.stream.destroy();
  };
  client.stream.on("data", (chunk: Uint8Array) =>
    judge(guard.feed(chunk, clock.monotonic()) ?? unsent(client)),
  );
  // Frames without a byte of MQTT never reach the stream.
  const frames = new FrameCounter();
  socket?.on("data", (chunk: Uint8Array) =>
    judge(guard.frames(frames.count(chunk), clock.monotonic()) ?? unsent(client)),
  );
  client.stream.on("error", (error: Error) => end.note(endOf(error)));
  client.on("disconnect", (packet) => {
    const code = packet.reasonCode ?? 0;
    end.note({ by: "broker", code, message: `the broker sent DISCONNECT ${codeText(code)}` });
    client.stream.destroy();
  });
  client.on("error", (error) => {
    end.note(endOf(error));
    client.stream.destroy();
  });
  client.on("close", () => end.close());
}

/** The connection of a WebSocket, for the bytes that the library shows in no event. */
function openSocket({ protocol, hostname, port }: URL, options: ConnectionOptions): Duplex {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (protocol !== "wss:") return connectTCP({ host, port: Number(port || 80) });
  const servername = isIP(host) === 0 ? host : "";
  return connectTLS({ ...options, host, servername, port: Number(port || 443) });
}

/** A broker that sends and does not read lets the acknowledgements pile up. */
function unsent({ stream }: MqttClient): SessionEnd | undefined {
  if (stream.writableLength <= MAX_UNSENT) return undefined;
  const message = `the broker does not read: ${stream.writableLength} bytes wait for it`;
  return { by: "us", message };
}

function endOf(error: Error): SessionEnd {
  const code = codeOf(error);
  if (code !== undefined) return { by: "us", code, message: error.message };
  const byPeer = CLOSED_BY_PEER.includes(errorCode(error));
  return { by: byPeer ? "broker" : "network", message: error.message };
}

interface Attempt {
  readonly options: ConnectOptions;
  readonly end: ConnectionEnd;
  readonly signal: AbortSignal;
  readonly clock: LinkClock;
}

/** CONNACK, or an AgentError after which nothing of the attempt is left. */
async function awaitConnack(client: MqttClient, attempt: Attempt): Promise<IConnackPacket> {
  const { options, end, signal, clock } = attempt;
  const { connectTimeoutMs: ms } = options;
  using limit = deadline(clock, ms, signal);
  return await new Promise<IConnackPacket>((resolve, reject) => {
    const giveUp = (why: AgentError): void => {
      reset(client);
      reject(why);
    };
    const stop = (): void =>
      giveUp(failed(options, signal.aborted ? "stopped" : `no CONNACK within ${ms / 1_000} s`));
    limit.signal.addEventListener("abort", stop, { once: true });
    client.once("connect", (packet) => {
      limit.signal.removeEventListener("abort", stop);
      resolve(packet);
    });
    client.once("error", (error) => giveUp(refusal(options, error)));
    void end.ended.then(({ message }) => giveUp(failed(options, `${message} before CONNACK`)));
  });
}

/**
 * Closes an attempt with a TCP reset. After a FIN, the kernel goes on with the delivery of CONNECT: a broker that accepts
 * the connection late would then take the session over from the connection that came after this one.
 */
function reset({ stream }: MqttClient): void {
  // TLS and WebSocket send CONNECT only to a broker that has accepted the connection.
  const isTcp = stream instanceof Socket && !(stream instanceof TLSSocket);
  // While it connects, Bun would wait for the connection, and send CONNECT before the reset.
  if (isTcp && !stream.connecting) stream.resetAndDestroy();
  else stream.destroy();
}

function ackOf(packet: IConnackPacket, protocolVersion: 4 | 5): ConnectAck {
  const properties = packet.properties;
  return {
    sessionPresent: packet.sessionPresent,
    receiveMaximum: properties?.receiveMaximum ?? 65_535,
    maximumQos: qosOf(properties?.maximumQoS),
    retainAvailable: properties?.retainAvailable !== false,
    maximumPacketSize: properties?.maximumPacketSize,
    protocolVersion,
  };
}

function qosOf(maximum: number | undefined): 0 | 1 | 2 {
  return maximum === 0 || maximum === 1 ? maximum : 2;
}
