// Performs: keeps what shortens the next TLS handshake: a session is resumed with the same broker and the same files
// only.

import type { Duplex } from "node:stream";

import type { ConnectOptions } from "./mqtt-link.ts";

/** Resumptions in a row that came to nothing, after which this broker is asked no more. */
const GIVE_UP = 2;
/** With another of these it is another connection, and whoever resumes would not be verified anew. */
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

  /** How an attempt with a session ended: some servers refuse what they gave out themselves. */
  used(connected: boolean): void {
    this.#failures = connected ? 0 : this.#failures + 1;
  }
}
