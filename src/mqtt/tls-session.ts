// Performs: resumes TLS sessions (`mqtt.profile: metered`), so that a reconnect costs fewer bytes.

import type { Duplex } from "node:stream";
import type { ConnectOptions } from "./mqtt-link.ts";

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
