// Our connect options in the words of the MQTT library.

import type { IClientOptions } from "mqtt";

import type { ConnectOptions } from "./mqtt-link.ts";

/** Messages of QoS 1 the broker may have unacknowledged towards us. */
export const RECEIVE_MAXIMUM = 16;
/** Largest packet in bytes that is taken from a broker. */
export const MAXIMUM_PACKET_SIZE = 256 * 1024;
/** Largest WebSocket message in bytes; a broker may put several packets into one. */
const MAXIMUM_FRAME = 1024 * 1024;

/** What is not in the library's type goes through to the TLS socket. */
type LibraryOptions = IClientOptions & {
  readonly minVersion: "TLSv1.2";
  readonly session?: Buffer;
};

/**
 * One connection, no reconnecting, no resubscribing, no store that outlives it: all that is decided above.
 * `tlsSession` = what an earlier connection left to resume.
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
    // Its cache of all 65,536 packet numbers takes 5 MB for the life of the process.
    writeCache: false,
    ...will(options),
    minVersion: "TLSv1.2",
    // A WebSocket's own options: of those above the library hands on CA, certificate and key only.
    wsOptions: { maxPayload: MAXIMUM_FRAME, minVersion: "TLSv1.2" },
    // The client id is ours, whatever the address says behind its question mark.
    query: {},
    ...(options.username === undefined ? {} : { username: options.username }),
    ...(options.password === undefined ? {} : { password: options.password }),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(options.cert === undefined ? {} : { cert: options.cert }),
    ...(options.key === undefined ? {} : { key: options.key }),
    ...(tlsSession === undefined ? {} : { session: tlsSession }),
    ...(options.alpn === undefined ? {} : { ALPNProtocols: [...options.alpn] }),
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

/** The same bytes without a copy, in the class the library wants. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
