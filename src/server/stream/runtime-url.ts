// The address of the runtime's streaming server, as CRI returns it.

import { AgentError } from "../../lib/errors.ts";

export interface RuntimeAddress {
  readonly host: string;
  readonly port: number;
  /** Path and query; the path contains a token that is valid once. */
  readonly target: string;
}

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/;

/**
 * Throws AgentError `StreamError` unless it is plain HTTP on this machine: commands and their input would travel
 * anywhere else in the clear.
 */
export function runtimeAddress(url: string): RuntimeAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) throw refused(`the runtime's streaming URL is invalid`);
  const { protocol, hostname, port, pathname, search } = parsed;
  if (protocol !== "http:")
    throw refused(
      `the runtime's streaming server speaks ${protocol.replace(":", "")}, and only http is supported: switch TLS off for it (containerd: enable_tls_streaming = false)`,
    );
  if (!LOOPBACK.test(hostname))
    throw refused(
      `the runtime's streaming server is on ${hostname}, and only this machine's loopback is used: set its address to 127.0.0.1 (containerd: stream_server_address)`,
    );
  return {
    host: hostname.replaceAll(/[[\]]/g, ""),
    port: port === "" ? 80 : Number(port),
    target: pathname + search,
  };
}

function refused(message: string): AgentError {
  return new AgentError({ reason: "StreamError", message });
}
