// Error messages of a failed connection: the broker's or TLS's error, and the settings to check.

import { AgentError, errorCode } from "../lib/errors.ts";
import type { ConnectOptions } from "./mqtt-link.ts";

/** CONNACK codes that a different CONNECT avoids: an unsupported version (in 3.1.1 and in 5), and features of the will. */
const AVOIDABLE: Readonly<Record<number, string>> = {
  0x01: "ProtocolUnsupported",
  0x84: "ProtocolUnsupported",
  0x9a: "RetainUnsupported",
  0x9b: "QosUnsupported",
};

const UNVERIFIED = "the broker's certificate is not signed by a CA of mqtt.caFile";
/** Without `mqtt.caFile` the system's CAs are used. */
const UNVERIFIED_BY_SYSTEM =
  "the broker's certificate is not signed by a CA of this system; set mqtt.caFile to use another CA";
const WANTS_CERTIFICATE = "the broker rejects the client certificate (mqtt.certFile, mqtt.keyFile)";

/** The remedy of a TLS error, by the library's code. */
const REMEDIES: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNVERIFIED,
  UNABLE_TO_GET_ISSUER_CERT: UNVERIFIED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNVERIFIED,
  SELF_SIGNED_CERT_IN_CHAIN: UNVERIFIED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNVERIFIED,
  CERT_HAS_EXPIRED: "the broker's certificate, or its CA's, has expired by this machine's clock",
  CERT_NOT_YET_VALID: "the broker's certificate is not valid yet by this machine's clock",
  ERR_TLS_CERT_ALTNAME_INVALID: "the broker's certificate is for another address than mqtt.url's",
};

/** The broker refused CONNECT. */
export function refusal(options: ConnectOptions, error: Error): AgentError {
  const code = codeOf(error);
  if (code === undefined) return failed(options, error);
  const reason = AVOIDABLE[code] ?? "ConnectRefused";
  const message = `broker ${brokerOf(options)}: ${error.message} (CONNACK code ${codeText(code)})`;
  return new AgentError({ reason, message, cause: error });
}

/** The broker did not answer CONNECT. */
export function failed(options: ConnectOptions, why: unknown): AgentError {
  const text = why instanceof Error ? why.message : String(why);
  const remedy = why instanceof Error ? remedyOf(options, why) : undefined;
  return new AgentError({
    reason: "ConnectFailed",
    message: `no connection to broker ${brokerOf(options)}: ${text}${remedy === undefined ? "" : ` (${remedy})`}`,
    cause: why,
  });
}

/** The MQTT reason code that a library error carries. */
export function codeOf(error: Error): number | undefined {
  return "code" in error && typeof error.code === "number" ? error.code : undefined;
}

/** A reason code as in the MQTT standard. */
export function codeText(code: number): string {
  return `0x${code.toString(16).padStart(2, "0")}`;
}

function remedyOf({ ca }: ConnectOptions, error: Error): string | undefined {
  const remedy = REMEDIES[errorCode(error)] ?? byMessage(error.message);
  return remedy === UNVERIFIED && ca === undefined ? UNVERIFIED_BY_SYSTEM : remedy;
}

/** Errors of a WebSocket and alerts of the peer have no code. */
function byMessage(message: string): string | undefined {
  if (
    /CERTIFICATE_REQUIRED|ALERT_(BAD|UNKNOWN|UNSUPPORTED)_C|CERTIFICATE_(EXPIRED|REVOKED|UNKNOWN)/.test(
      message,
    )
  )
    return WANTS_CERTIFICATE;
  if (/ALERT_PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/.test(message))
    return "TLS 1.2 is the oldest supported version";
  if (/verify the first certificate|self.signed certificate|local issuer/i.test(message))
    return UNVERIFIED;
  if (/certificate has expired/i.test(message)) return REMEDIES["CERT_HAS_EXPIRED"];
  if (/does not match certificate/.test(message)) return REMEDIES["ERR_TLS_CERT_ALTNAME_INVALID"];
  return undefined;
}

/** The URL without user and password. */
function brokerOf({ url }: ConnectOptions): string {
  const { protocol, host } = URL.parse(url) ?? { protocol: "", host: url };
  return `${protocol}//${host}`;
}
