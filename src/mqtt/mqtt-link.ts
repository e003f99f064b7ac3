// One connection to the broker as an interface: everything above sees sessions that begin and end.

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
  readonly protocolVersion: 4 | 5;
  readonly keepAliveSeconds: number;
  /** Only with MQTT 5. */
  readonly sessionExpirySeconds: number;
  readonly will: MqttMessage & { readonly delaySeconds: number };
  /** Longest wait for CONNACK. */
  readonly connectTimeoutMs: number;
}

export interface MqttMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1;
  readonly retain: boolean;
}

export interface ConnectAck {
  readonly sessionPresent: boolean;
  /** What the broker allows; the protocol's defaults where it says nothing. */
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
  /** Granted QoS or failure code (≥ 0x80) per filter, in order. Rejects when the session ends first. */
  subscribe(filters: readonly string[]): Promise<readonly number[]>;
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
  /** One attempt; messages (also those that follow CONNACK at once) go to `onMessage`. Rejects with AgentError
   * reason `ConnectRefused` (its message names the CONNACK code), `ConnectFailed` or `ProtocolUnsupported`. */
  connect(
    options: ConnectOptions,
    onMessage: (message: MqttMessage) => void,
    signal: AbortSignal,
  ): Promise<MqttSession>;
}
