// Performs: connects to the broker, with TLS where the address asks for it, and reads its certificate.

import { readFile } from "node:fs/promises";
import { connect as connectTcp } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import type { MqttConfig } from "../../config/config.ts";
import { messageOf } from "../../lib/errors.ts";

export type BrokerAnswer =
  | {
      readonly type: "Connected";
      readonly address: string;
      /** When its certificate expires, in wall-clock milliseconds; undefined = without TLS. */
      readonly expires: number | undefined;
    }
  | { readonly type: "Failed"; readonly address: string; readonly message: string };

const PORTS: Readonly<Record<string, number>> = {
  "mqtt:": 1883,
  "mqtts:": 8883,
  "ws:": 80,
  "wss:": 443,
};

export async function askBroker(mqtt: MqttConfig, signal: AbortSignal): Promise<BrokerAnswer> {
  const { protocol, hostname, port } = new URL(mqtt.url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const at = { host, port: port === "" ? (PORTS[protocol] ?? 1883) : Number(port) };
  const address = `${protocol}//${hostname}:${at.port}`;
  const isSecure = protocol === "mqtts:" || protocol === "wss:";
  try {
    const expires = isSecure ? await overTls(at, mqtt, signal) : await overTcp(at, signal);
    return { type: "Connected", address, expires };
  } catch (error) {
    return { type: "Failed", address, message: messageOf(error) };
  }
}

interface Address {
  readonly host: string;
  readonly port: number;
}

async function overTcp(at: Address, signal: AbortSignal): Promise<undefined> {
  const socket = connectTcp(at);
  try {
    await settled((done, fail) => {
      socket.once("connect", done);
      socket.once("error", fail);
    }, signal);
  } finally {
    socket.destroy();
  }
}

async function overTls(at: Address, mqtt: MqttConfig, signal: AbortSignal): Promise<number> {
  const { caFile, certFile, keyFile, alpn } = mqtt;
  const read = (path: string | undefined): Promise<string | undefined> =>
    path === undefined ? Promise.resolve(undefined) : readFile(path, "utf8");
  const [ca, cert, key] = await Promise.all([read(caFile), read(certFile), read(keyFile)]);
  const options: ConnectionOptions = { ...at, minVersion: "TLSv1.2", rejectUnauthorized: true };
  if (!/^[\d.]+$|:/.test(at.host)) options.servername = at.host;
  if (ca !== undefined) options.ca = ca;
  if (cert !== undefined) options.cert = cert;
  if (key !== undefined) options.key = key;
  if (alpn !== undefined) options.ALPNProtocols = [...alpn];
  const socket = connectTls(options);
  try {
    await settled((done, fail) => {
      socket.once("secureConnect", done);
      socket.once("error", fail);
    }, signal);
    return Date.parse(socket.getPeerCertificate().valid_to);
  } finally {
    socket.destroy();
  }
}

function settled(
  listen: (done: () => void, fail: (error: Error) => void) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new Error("it does not answer"));
    if (signal.aborted) late();
    listen(resolve, reject);
    signal.addEventListener("abort", late, { once: true });
  });
}
