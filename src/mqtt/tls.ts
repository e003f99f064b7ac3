// TLS of the connection to the broker: TLS 1.2 or later, the CAs, the client's certificate and key. The broker's
// certificate is always checked; no field of the configuration relaxes that.

import type { ConnectOptions } from "./mqtt-link.ts";
import { withoutUndefined } from "../lib/json.ts";

const ALWAYS = { minVersion: "TLSv1.2", rejectUnauthorized: true } as const;

/** Options beyond the MQTT library's type are passed on to the TLS socket. */
export interface TlsOptions {
  readonly minVersion: "TLSv1.2";
  readonly rejectUnauthorized: true;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly session?: Buffer;
  readonly ALPNProtocols?: string[];
  readonly wsOptions: Pick<TlsOptions, "minVersion" | "rejectUnauthorized">;
}

/** Without `ca` the system's CAs count. `session`: of an earlier connection, to be resumed (tls-session.ts). */
export function tlsOptions(options: ConnectOptions, session?: Buffer): TlsOptions {
  const { ca, cert, key, alpn } = options;
  const ALPNProtocols = alpn && [...alpn];
  return {
    ...ALWAYS,
    ...withoutUndefined({ ca, cert, key, session, ALPNProtocols }),
    // For a WebSocket the library passes on only CA, certificate and key of the options above.
    wsOptions: ALWAYS,
  };
}
