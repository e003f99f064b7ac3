// Options of the MQTT library for one connection: session, will, keep-alive, Receive Maximum. Those of TLS are in
// tls.ts.

import type { IClientOptions } from "mqtt";

import { withoutUndefined } from "../lib/json.ts";
import type { ConnectOptions } from "./mqtt-link.ts";
import { tlsOptions, type TlsOptions } from "./tls.ts";
import { MAXIMUM_PACKET_SIZE } from "./packet-guard.ts";

/** Messages of QoS 1 that the broker may send before an acknowledgement. */
export const RECEIVE_MAXIMUM = 16;
/** Largest WebSocket message in bytes; a broker may put several packets into one. */
const MAXIMUM_FRAME = 1024 * 1024;

type LibraryOptions = IClientOptions & TlsOptions;

/**
 * One connection without reconnecting, resubscribing or a store that outlives it: the callers decide about all that.
 * `tlsSession`: of an earlier connection, to be resumed.
 */
export function clientOptions(options: ConnectOptions, tlsSession?: Buffer): LibraryOptions {
  const tls = tlsOptions(options, tlsSession);
  return {
    clientId: options.clientId,
    clean: options.clean === true,
    protocolId: "MQTT",
    protocolVersion: options.protocolVersion,
    keepalive: options.keepAliveSeconds,
    // The link gives up first.
    connectTimeout: 2 * options.connectTimeoutMs,
    reconnectPeriod: 0,
    resubscribe: false,
    timerVariant: "native",
    // The library's cache of all 65,536 packet numbers would use 5 MB permanently.
    writeCache: false,
    ...will(options),
    ...tls,
    wsOptions: { maxPayload: MAXIMUM_FRAME, ...tls.wsOptions },
    // A query in the URL must not override the client id.
    query: {},
    ...withoutUndefined({
      username: options.username,
      password: options.password,
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
