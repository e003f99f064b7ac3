// Performs: the interface of a connection to the broker: a session that begins and ends.

import type { TokenBucketPolicy } from "../lib/token-bucket.ts";

/** Size of one packet on the connection, without TCP and TLS. */
export interface PacketSize {
  readonly direction: "in" | "out";
  readonly bytes: number;
  /** Of a PUBLISH. */
  readonly topic?: string;
}

export interface ConnectOptions {
  /** mqtt, mqtts, ws or wss URL. */
  readonly url: string;
  readonly clientId: string;
  readonly username?: string;
  readonly password?: string;
  /** PEM texts. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly alpn?: readonly string[];
  /** TLS session resumption: shorter handshakes on metered lines; not for WebSockets. Absent = no. */
  readonly resumeTls?: boolean;
  readonly protocolVersion: 4 | 5;
  readonly keepAliveSeconds: number;
  /** Only with MQTT 5. */
  readonly sessionExpirySeconds: number;
  /** Absent = none. */
  readonly will?: MqttMessage & { readonly delaySeconds: number };
  /** Neither resumes nor leaves a session; absent = no. */
  readonly clean?: boolean;
  /** Packets of the broker beyond which the connection ends; absent = any number. */
  readonly receiveRate?: TokenBucketPolicy;
  /** Longest wait for CONNACK. */
  readonly connectTimeoutMs: number;
  /** Called for every packet, for counting. Must not throw. */
  readonly onPacket?: (packet: PacketSize) => void;
}

export interface MqttMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  /** MQTT 5: the topic for the response, and data to return with it. */
  readonly responseTopic?: string;
  readonly correlationData?: Uint8Array;
}

export interface ConnectAck {
  readonly sessionPresent: boolean;
  /** The broker's limits, or the protocol's defaults. */
  readonly receiveMaximum: number;
  readonly maximumQos: 0 | 1 | 2;
  readonly retainAvailable: boolean;
  /** Bytes; undefined = no limit. */
  readonly maximumPacketSize: number | undefined;
  readonly protocolVersion: 4 | 5;
}

/** Why a session ended; `code` is MQTT 5's DISCONNECT reason code when the broker sent one. */
export interface SessionEnd {
  readonly by: "broker" | "us" | "network";
  readonly code?: number;
  readonly message: string;
}

export interface MqttSession {
  readonly ack: ConnectAck;
  /** Granted QoS or failure code (≥ 0x80) per filter, in order. `qos`: 1 by default. Rejects when the session ends first. */
  subscribe(filters: readonly string[], qos?: 0 | 1): Promise<readonly number[]>;
  /** Resolves with any answer of the broker. Rejects when the session ends first. */
  unsubscribe(filters: readonly string[]): Promise<void>;
  /** Resolves with the PUBACK's reason code (0 = success; QoS 0: at once). Rejects when the session ends first. */
  publish(message: MqttMessage): Promise<number>;
  /** Resolves when the session is over, whatever the cause; never rejects. */
  readonly ended: Promise<SessionEnd>;
  /** Clean DISCONNECT (the broker drops the will). */
  end(): Promise<void>;
  /** Drops the connection without DISCONNECT. */
  abort(): void;
}

export interface MqttLink {
  /**
   * One attempt; messages (also those that follow CONNACK at once) go to `onMessage`. Rejects with AgentError
   * `ConnectRefused` (its message names the CONNACK code), `ConnectFailed`, or a reason that a different CONNECT avoids:
   * `ProtocolUnsupported`, and because of the will `RetainUnsupported`, `QosUnsupported`.
   */
  connect(
    options: ConnectOptions,
    onMessage: (message: MqttMessage) => void,
    signal: AbortSignal,
  ): Promise<MqttSession>;
}
