// Performs: listens with TLS. It asks for a client certificate and takes connections without one too: each request is
// judged by itself, because a token comes with the request.

import { createServer, type Server, type TLSSocket, type TlsOptions } from "node:tls";
import type { ListenAddress } from "../../config/listen-config.ts";
import type { Clock } from "../../lib/clock.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import type { TlsPeer } from "../access/peer.ts";
import type { Meter } from "../../lib/meter.ts";
import type { Connections } from "./connections.ts";
import type { HandshakeRate } from "./handshake-rate.ts";

export interface TlsKeys {
  /** PEM: the server's certificate and those that vouch for it. */
  readonly certificate: string;
  readonly key: string;
  /** PEM: those that sign client certificates. */
  readonly authorities: readonly string[];
}

export interface TlsListenerOptions {
  readonly address: ListenAddress;
  readonly keys: TlsKeys;
  readonly connections: Connections;
  readonly rate: HandshakeRate;
  readonly clock: Clock;
  /** Absent = nothing is counted. */
  readonly meter?: Meter;
  readonly accept: (socket: TLSSocket, peer: TlsPeer) => void;
  /** Before the handshake of a connection. */
  readonly onConnection: () => void;
}

export class TlsListener {
  readonly #options: TlsListenerOptions;
  readonly #server: Server;
  /** Closed before their handshake, which then fails. */
  readonly #refused = new WeakSet<object>();

  private constructor(options: TlsListenerOptions) {
    this.#options = options;
    this.#server = createServer(contextOf(options.keys), (socket) => this.#secured(socket));
    this.#server.on("connection", (socket: TLSSocket) => this.#connected(socket));
    this.#server.on("tlsClientError", (_error, socket) => {
      if (!this.#refused.has(socket)) this.#count("failed");
      socket.destroy();
    });
  }

  /** Rejects if the address cannot be listened on. */
  static async open(options: TlsListenerOptions): Promise<TlsListener> {
    const listener = new TlsListener(options);
    const server = listener.#server;
    const { host, port } = options.address;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port }, () => {
        server.off("error", reject);
        server.on("error", () => undefined);
        resolve();
      });
    });
    return listener;
  }

  /** For the handshakes from now on. */
  setKeys(keys: TlsKeys): void {
    this.#server.setSecureContext(contextOf(keys));
  }

  /** The port that is listened on. */
  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** Takes no more connections, and ends those that there are. */
  close(): void {
    this.#server.close();
    this.#options.connections.end();
  }

  /** Before the handshake: what is closed here has cost little. */
  #connected(socket: TLSSocket): void {
    const { connections, rate, clock, onConnection } = this.#options;
    if (!rate.take(socket.remoteAddress ?? "", clock.monotonic())) {
      socket.on("error", () => undefined);
      socket.destroy();
      return this.#refuse(socket);
    }
    if (!connections.add(socket)) this.#refuse(socket);
    onConnection();
  }

  #refuse(socket: TLSSocket): void {
    this.#refused.add(socket);
    this.#count("refused");
  }

  #count(result: "completed" | "failed" | "refused"): void {
    this.#options.meter?.count("agent_api_handshakes_total", { result });
  }

  #secured(socket: TLSSocket): void {
    this.#count("completed");
    const certificate = socket.getPeerCertificate() as { readonly raw?: Uint8Array } | undefined;
    const raw = certificate?.raw;
    const fingerprint = raw === undefined ? undefined : sha256(raw);
    const address = socket.remoteAddress ?? "";
    this.#options.accept(socket, { door: "tls", address, fingerprint });
  }
}

function contextOf({ certificate, key, authorities }: TlsKeys): TlsOptions {
  return {
    cert: certificate,
    key,
    ca: [...authorities],
    requestCert: true,
    // Whose certificate it is, and whether it still counts, is found out by its fingerprint.
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
    ALPNProtocols: ["http/1.1"],
    // Streams are closed in one direction first.
    allowHalfOpen: true,
  };
}
