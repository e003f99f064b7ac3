// Performs: accepts a WebSocket on a connection that a client wants upgraded: whole messages in, messages out with
// back-pressure.

import WebSocketServer from "../../../node_modules/ws/lib/websocket-server.js";
import { Alarm } from "../../lib/alarm.ts";
import type { Clock } from "../../lib/clock.ts";
import type { UpgradeRequest } from "../http/http-door.ts";

export interface WebSocketPeer {
  /** Called with each message in turn; the next is read when it has resolved. */
  receive(message: (content: Uint8Array) => Promise<void>): void;
  /** Resolves when the client takes more; at once when it is gone. */
  send(content: Uint8Array | string): Promise<void>;
  close(code: number, reason?: string): void;
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>;
}

/** A client that copies a file sends some of it in one message. */
const MAX_MESSAGE = 4 * 1024 * 1024;
const HEADERS = [
  "upgrade",
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-extensions",
];
/** A client that vanished while nothing could be sent to it is found out by a ping. */
const PING_MS = 30_000;
export const NORMAL = 1000;
/** The server cannot go on. */
export const INTERNAL_ERROR = 1011;

export function isWebSocket({ header }: Pick<UpgradeRequest, "header">): boolean {
  return header("upgrade")?.toLowerCase() === "websocket";
}

/**
 * Answers the handshake; `protocol` undefined = none was asked for. Resolves with undefined when the handshake is wrong,
 * and the connection is closed then.
 */
export function acceptWebSocket(
  { method, header, socket, head }: UpgradeRequest,
  { protocol, clock }: { readonly protocol: string | undefined; readonly clock: Clock },
): Promise<WebSocketPeer | undefined> {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE,
  });
  // Not by the library, which rightly refuses the slash in the name that kubectl uses for port forwarding.
  server.on("headers", (lines) => {
    if (protocol !== undefined) lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
  });
  const headers = Object.fromEntries(HEADERS.map((name) => [name, header(name)]));
  const { promise, resolve } = Promise.withResolvers<WebSocketPeer | undefined>();
  socket.once("close", () => resolve(undefined));
  const accepted = (library: LibrarySocket): void => resolve(new Peer(library, clock));
  server.handleUpgrade({ method, headers }, socket, head, accepted);
  return promise;
}

type LibrarySocket = Parameters<Parameters<WebSocketServer["handleUpgrade"]>[3]>[0];

class Peer implements WebSocketPeer {
  readonly #library: LibrarySocket;
  readonly #closed = Promise.withResolvers<void>();
  readonly #unsent = new Set<() => void>();
  readonly #ping: Alarm;
  #received: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(library: LibrarySocket, clock: Clock) {
    this.#library = library;
    this.#ping = new Alarm(clock, () => {
      library.ping();
      this.#ping.after(PING_MS);
    });
    this.#ping.after(PING_MS);
    library.on("error", () => library.terminate());
    library.on("close", () => {
      this.#ping[Symbol.dispose]();
      for (const done of this.#unsent) done();
      this.#closed.resolve();
    });
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  receive(message: (content: Uint8Array) => Promise<void>): void {
    this.#library.on("message", (content) => {
      // What came in the same packet follows although the socket is paused.
      this.#waiting += 1;
      this.#library.pause();
      this.#received = this.#received.then(async () => {
        await message(content);
        this.#waiting -= 1;
        if (this.#waiting === 0) this.#library.resume();
      });
    });
  }

  send(content: Uint8Array | string): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#unsent.delete(done);
        resolve();
      };
      this.#unsent.add(done);
      this.#library.send(content, { binary: typeof content !== "string" }, done);
    });
  }

  close(code: number, reason?: string): void {
    this.#library.close(code, reason);
  }
}
