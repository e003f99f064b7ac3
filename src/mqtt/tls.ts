// Performs: resumes TLS sessions, and reads the expiry of certificates.

import type { Duplex } from "node:stream";
import type { ConnectOptions } from "./mqtt-link.ts";
import { X509Certificate } from "node:crypto";
import { AgentError, messageOf } from "../lib/errors.ts";

/** After this many failed resumptions in a row none is tried again. */
const GIVE_UP = 2;
/** A session is resumed only with the same broker and files: a resumed one is not verified again. */
const SAME = ["url", "ca", "cert", "key"] as const;

export class TlsTicket {
  #kept: { readonly options: ConnectOptions; readonly session: Buffer } | undefined;
  #failures = 0;

  /** For the next handshake; used once. */
  take(options: ConnectOptions): Buffer | undefined {
    const kept = this.#kept;
    this.#kept = undefined;
    if (options.resumeTls !== true || kept === undefined || this.#failures >= GIVE_UP)
      return undefined;
    return SAME.every((key) => options[key] === kept.options[key]) ? kept.session : undefined;
  }

  /** Keeps the newest session the broker gives on this connection. */
  watch(stream: Duplex, options: ConnectOptions): void {
    if (options.resumeTls !== true) return;
    stream.on("session", (session: Buffer) => (this.#kept = { options, session }));
  }

  /** Result of an attempt with a session: some servers refuse their own sessions. */
  used(connected: boolean): void {
    this.#failures = connected ? 0 : this.#failures + 1;
  }
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** When each certificate of the text expires, in ms since 1970 and in their order; AgentError `InvalidCertificate`. */
export function certificateExpiries(pem: string): readonly number[] {
  const blocks = pem.match(BLOCK) ?? [];
  if (blocks.length === 0)
    throw new AgentError({ reason: "InvalidCertificate", message: "holds no certificate in PEM" });
  return blocks.map((block) => expiryOf(block));
}

function expiryOf(block: string): number {
  try {
    return Date.parse(new X509Certificate(block).validTo);
  } catch (error) {
    const message = `holds a certificate that cannot be read: ${messageOf(error)}`;
    throw new AgentError({ reason: "InvalidCertificate", message, cause: error });
  }
}
