// Performs: HTTP/1.1 for the API of the node: requests become `ApiRequest`s, replies are written with back-pressure.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { aborted, deadline, type Clock } from "../../lib/clock.ts";
import { AgentError, messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Meter } from "../../lib/meter.ts";
import type { Admission, Asked } from "../access/gate.ts";
import { UNIX_PEER, type Peer } from "../access/peer.ts";
import { failureAnswer, rawAnswer, writeAnswer, writeStream } from "./write-answer.ts";
import { isStreamed, type ApiRequest, type Reply } from "./exchange.ts";

/** A request that asks for another protocol on its connection, such as SPDY or WebSocket. */
export interface UpgradeRequest extends Omit<ApiRequest, "body"> {
  readonly socket: Duplex;
  /** What the client has sent after its request. */
  readonly head: Uint8Array;
  /** Of the request as it came: names and values in turn. */
  readonly rawHeaders: readonly string[];
}

export interface HttpDoorOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Absent = nothing is counted. */
  readonly meter?: Meter;
  /** Asked before anything of a request is acted on. */
  readonly admit: (asked: Asked) => Admission;
  readonly reply: (request: ApiRequest) => Promise<Reply>;
  /** Takes the connection over: writes the answer and ends the socket, also after an error. Resolves to its status. */
  readonly upgrade: (request: UpgradeRequest) => Promise<number>;
  /** Of a connection that was accepted: whether a request of a known user runs on it. */
  readonly onBusy?: (socket: Duplex, isBusy: boolean) => void;
}

/** A placeholder, because a path alone is no URL. */
const ORIGIN = "http://agent";
const MAX_HEADER_BYTES = 32 * 1024;
/** A client that sends its head more slowly is cut off. Connections that were accepted are watched by their listener. */
const HEAD_MS = 10_000;
const IDLE_MS = 120_000;
/** For the whole body of a request. */
const BODY_MS = 60_000;

/** Answers requests of every listener; each connection is given with what it proves. */
export class HttpDoor {
  readonly #options: HttpDoorOptions;
  readonly #stop = new AbortController();
  readonly #peers = new WeakMap<object, Peer>();
  readonly #sockets = new Set<Duplex>();
  /** Running requests of known users. */
  readonly #running = new WeakMap<object, number>();
  readonly server: Server;

  constructor(options: HttpDoorOptions) {
    this.#options = options;
    const settings = {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEAD_MS,
      requestTimeout: 0,
    };
    this.server = createServer({ ...settings, keepAliveTimeout: IDLE_MS }, (request, response) => {
      void this.#answer(request, response);
    });
    this.server.on("upgrade", (request, socket, head) => void this.#upgrade(request, socket, head));
    this.server.on("connection", (socket: Duplex) => this.#follow(socket));
    this.server.on("clientError", (_error, socket) => socket.destroy());
  }

  /** A connection of another listener; without this call the peer is the unix socket's. */
  accept(socket: Duplex, peer: Peer): void {
    this.#peers.set(socket, peer);
    this.server.emit("connection", socket);
  }

  /** Ends every connection, and no new request is answered. */
  end(): void {
    this.#stop.abort();
    this.drop();
  }

  /** Ends every connection. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #follow(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", () => socket.destroy());
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock, log, reply } = this.#options;
    const gone = new AbortController();
    const signal = AbortSignal.any([gone.signal, this.#stop.signal]);
    const asked = this.#asked(request, { signal, isUpgrade: false });
    response.once("close", () => {
      gone.abort();
      this.#note(asked, response.headersSent ? response.statusCode : NO_ANSWER);
    });
    const admission = this.#options.admit(asked);
    if (admission.type === "Answered") {
      if (admission.waitMs > 0) await clock.sleep(admission.waitMs, signal);
      return writeAnswer(request, response, {
        answer: admission.answer,
        clock,
        signal: gone.signal,
        isLast: true,
      });
    }
    const { user, leave } = admission;
    this.#count(asked.socket, 1);
    response.once("close", () => {
      leave();
      this.#count(asked.socket, -1);
    });
    try {
      const body = (maxBytes: number): Promise<Uint8Array> => bodyOf(request, maxBytes, clock);
      const answer = await reply({ ...asked, user, signal, body });
      if (isStreamed(answer)) await writeStream(response, answer, signal);
      else writeAnswer(request, response, { answer, clock, signal: gone.signal });
    } catch (error) {
      const answer = failureAnswer(error);
      if (answer.status === 500) log.error("local API failed", { error: messageOf(error) });
      if (response.headersSent) response.destroy();
      else writeAnswer(request, response, { answer, clock, signal: gone.signal, isLast: true });
    }
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Uint8Array): Promise<void> {
    const { clock, log, upgrade } = this.#options;
    const gone = new AbortController();
    socket.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#stop.signal]);
    const asked = this.#asked(request, { signal, isUpgrade: true });
    const admission = this.#options.admit({ ...asked, socket });
    if (admission.type === "Answered") {
      if (admission.waitMs > 0) await clock.sleep(admission.waitMs, signal);
      this.#note(asked, admission.answer.status);
      socket.end(rawAnswer(admission.answer));
      return;
    }
    const { user, leave } = admission;
    this.#count(socket, 1);
    socket.once("close", leave);
    try {
      const { rawHeaders } = request;
      this.#note(asked, await upgrade({ ...asked, user, signal, socket, head, rawHeaders }));
    } catch (error) {
      log.error("local API failed", { error: messageOf(error) });
      socket.destroy();
    }
  }

  /** Counts a request that has ended. k8s: apiserver_request_total */
  #note(asked: Pick<Asked, "method" | "url" | "isUpgrade">, code: number): void {
    const labels = { verb: verbOf(asked), code: String(code) };
    this.#options.meter?.count("agent_api_requests_total", labels);
  }

  #count(socket: Duplex, change: 1 | -1): void {
    const before = this.#running.get(socket) ?? 0;
    const count = before + change;
    this.#running.set(socket, count);
    if (before === 0 || count === 0) this.#options.onBusy?.(socket, count > 0);
  }

  #asked(
    request: IncomingMessage,
    { signal, isUpgrade }: { readonly signal: AbortSignal; readonly isUpgrade: boolean },
  ) {
    const { socket } = request;
    return {
      method: request.method ?? "GET",
      url: urlOf(request.url ?? "/"),
      header: (name: string) => {
        const value = request.headers[name];
        return Array.isArray(value) ? value.join(", ") : value;
      },
      signal,
      isUpgrade,
      socket,
      peer: this.#peers.get(socket) ?? UNIX_PEER,
    };
  }
}

/** The client was gone before it was answered. */
const NO_ANSWER = 0;
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Bounded, whatever clients send: a method, `WATCH`, or `CONNECT` for a stream. */
function verbOf({ method, url, isUpgrade }: Pick<Asked, "method" | "url" | "isUpgrade">): string {
  if (isUpgrade) return "CONNECT";
  const watch = url.searchParams.get("watch");
  if (method === "GET" && (watch === "true" || watch === "1")) return "WATCH";
  return METHODS.includes(method) ? method : "other";
}

function urlOf(target: string): URL {
  return URL.canParse(target, ORIGIN) ? new URL(target, ORIGIN) : new URL("/%00", ORIGIN);
}

async function bodyOf(
  request: IncomingMessage,
  maxBytes: number,
  clock: Clock,
): Promise<Uint8Array> {
  using limit = deadline(clock, BODY_MS);
  const late = aborted(limit.signal).then((): never => {
    const message = `the body did not come within ${BODY_MS / 1000} s; try again`;
    throw new AgentError({ reason: "BodyTooSlow", message });
  });
  return await Promise.race([collect(request, maxBytes), late]);
}

async function collect(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request) {
    if (!(part instanceof Uint8Array)) continue;
    size += part.length;
    if (size > maxBytes)
      throw new AgentError({
        reason: "BodyTooLarge",
        message: `the body has more than ${maxBytes} bytes`,
      });
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}
