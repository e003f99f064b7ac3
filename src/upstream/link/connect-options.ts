// Performs: makes the options of CONNECT from configuration and files, at each attempt, so that a rotated key or
// password is used. Limits of packets and of messages in flight are those of `mqtt/mqttjs-options.ts`.

import type { MqttConfig } from "../../config/config.ts";
import type { Files } from "../../host/files.ts";
import type { ConnectOptions, MqttMessage } from "../../mqtt/mqtt-link.ts";
import { willWithin, type ConnectLimits } from "./connect-fallback.ts";
import { withoutUndefined } from "../../lib/json.ts";
import type { TokenBucketPolicy } from "../../lib/token-bucket.ts";

interface BrokerOptionsInput {
  readonly config: MqttConfig;
  readonly files: Files;
  readonly clientId: string;
  readonly limits: ConnectLimits;
  readonly will: MqttMessage;
}

const CONNECT_TIMEOUT_MS = 30_000;
const SESSION_EXPIRY_S = 7 * 86_400;
/** Hides short drops of a mobile network. */
const WILL_DELAY_S = 30;
/** A node's own messages are acknowledged ten a second, and it subscribes to few topics. */
const RECEIVE_RATE: TokenBucketPolicy = { burst: 2_000, perSecond: 200 };
const MAX_FILE_BYTES = 1 << 20;

/** Throws the AgentError `FileError` of a file that cannot be read. */
export function brokerOptions(input: BrokerOptionsInput): ConnectOptions {
  const { config, files, clientId, limits, will } = input;
  const read = (path: string): string => readText(files, path);
  return {
    url: config.url,
    clientId,
    protocolVersion: limits.protocolVersion,
    keepAliveSeconds: config.keepAliveSeconds,
    sessionExpirySeconds: SESSION_EXPIRY_S,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    receiveRate: RECEIVE_RATE,
    will: { ...willWithin(will, limits), delaySeconds: WILL_DELAY_S },
    ...credentials(config, read),
    ...(config.profile === "metered" ? { resumeTls: true } : {}),
  };
}

interface TrialInput extends Pick<BrokerOptionsInput, "config" | "files" | "clientId"> {
  readonly protocolVersion: 4 | 5;
}

/** Of a connection that is only tried: without a will, and without a session that stays. Throws as `brokerOptions`. */
export function trialOptions(input: TrialInput): ConnectOptions {
  const { config, files, clientId, protocolVersion } = input;
  return {
    url: config.url,
    clientId,
    protocolVersion,
    keepAliveSeconds: config.keepAliveSeconds,
    sessionExpirySeconds: 0,
    clean: true,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    receiveRate: RECEIVE_RATE,
    ...credentials(config, (path) => readText(files, path)),
  };
}

type Credentials = Pick<ConnectOptions, "username" | "password" | "ca" | "cert" | "key" | "alpn">;

/** What identifies the client and the broker to each other; `read` reads a password or PEM file. */
export function credentials(config: MqttConfig, read: (path: string) => string): Credentials {
  const { username, passwordFile, ca, caFile, certFile, keyFile, alpn } = config;
  const content = (path: string | undefined) => (path === undefined ? undefined : read(path));
  return withoutUndefined({
    username,
    // Editors add a line end to a password.
    password: content(passwordFile)?.replace(/\r?\n$/, ""),
    ca: ca ?? content(caFile),
    cert: content(certFile),
    key: content(keyFile),
    alpn,
  });
}

/** A password or PEM file; symbolic links are followed, as renewal of certificates often replaces links. Throws AgentError
 * `FileError`. */
export function readText(files: Files, path: string): string {
  return new TextDecoder().decode(files.readFollowing(path, MAX_FILE_BYTES));
}
