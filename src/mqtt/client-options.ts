// Translates connect options to those of the MQTT library.

import type { IClientOptions } from "mqtt";

import { withoutUndefined } from "../lib/json.ts";
import type { ConnectOptions } from "./mqtt-link.ts";

/** Messages of QoS 1 that the broker may send before an acknowledgement. */
export const RECEIVE_MAXIMUM = 16;
/** Largest packet in bytes that is accepted from a broker. */
export const MAXIMUM_PACKET_SIZE = 256 * 1024;
/** Largest WebSocket message in bytes; a broker may put several packets into one. */
const MAXIMUM_FRAME = 1024 * 1024;

/** Options beyond the library's type are passed on to the TLS socket. */
type LibraryOptions = IClientOptions & {
  readonly minVersion: "TLSv1.2";
  readonly session?: Buffer;
};

/**
 * One connection without reconnecting, resubscribing or a store that outlives it: the callers decide about all that.
 * `tlsSession`: of an earlier connection, to be resumed.
 */
export function clientOptions(options: ConnectOptions, tlsSession?: Buffer): LibraryOptions {
  return {
    clientId: options.clientId,
    clean: options.clean === true,
    protocolId: "MQTT",
    protocolVersion: options.protocolVersion,
    keepalive: options.keepAliveSeconds,
    connectTimeout: options.connectTimeoutMs,
    reconnectPeriod: 0,
    resubscribe: false,
    timerVariant: "native",
    // The library's cache of all 65,536 packet numbers would use 5 MB permanently.
    writeCache: false,
    ...will(options),
    minVersion: "TLSv1.2",
    // For a WebSocket the library passes on only CA, certificate and key of the options above.
    wsOptions: { maxPayload: MAXIMUM_FRAME, minVersion: "TLSv1.2" },
    // A query in the URL must not override the client id.
    query: {},
    ...withoutUndefined({
      username: options.username,
      password: options.password,
      ca: options.ca,
      cert: options.cert,
      key: options.key,
      session: tlsSession,
      ALPNProtocols: options.alpn && [...options.alpn],
    }),
    ...(options.protocolVersion === 5
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

function will(options: ConnectOptions): Pick<IClientOptions, "will"> {
  if (options.will === undefined) return {};
  const { topic, payload, qos, retain, delaySeconds } = options.will;
  const message = { topic, payload: bufferOf(payload), qos, retain };
  if (options.protocolVersion === 4) return { will: message };
  return { will: { ...message, properties: { willDelayInterval: delaySeconds } } };
}

/** The same bytes without a copy, as the class that the library requires. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
