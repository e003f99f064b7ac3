// Performs: the client's side of SPDY/3.1 on a socket that was upgraded to it: streams with back-pressure and half-close.
//
// The streaming servers of container runtimes neither grant nor observe SPDY's own windows: TCP holds back the whole
// connection. A stream whose reader is slow therefore delays the others of its connection; it costs no memory.

import type { Duplex } from "node:stream";
import { AgentError } from "../../../lib/errors.ts";
import {
  CANCEL,
  dataFrame,
  FrameParser,
  ping,
  rstStream,
  synStream,
  type FrameEvent,
} from "./spdy-frames.ts";
import { SpdyStream, type Done } from "./spdy-stream.ts";

export class SpdyConnection {
  readonly #socket: Duplex;
  readonly #parser = new FrameParser();
  readonly #streams = new Map<number, SpdyStream>();
  /** Streams whose reader has not taken what has come. */
  readonly #full = new Set<number>();
  readonly #closed = Promise.withResolvers<void>();
  #undrained: Done[] = [];
  #next = 1;

  /** `head`: what has arrived on the socket already. */
  constructor(socket: Duplex, head: Uint8Array) {
    this.#socket = socket;
    socket.on("drain", () => this.#drained());
    socket.on("error", () => socket.destroy());
    // The peer sends no more on any stream: an answer to what we would still send could not come.
    socket.once("end", () => socket.destroy());
    socket.once("close", () => this.#ended());
    if (head.length > 0) this.#received(head);
    socket.on("data", (chunk: Uint8Array) => this.#received(chunk));
    socket.resume();
  }

  /** Resolves when the connection is gone. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Resolves when the peer has accepted the stream; rejects with AgentError `StreamError` if it does not. */
  async open(headers: Readonly<Record<string, string>>): Promise<SpdyStream> {
    const id = this.#next;
    this.#next += 2;
    const stream = new SpdyStream({
      send: (data, isLast, done) => this.#send(dataFrame(id, data, isLast), done),
      wanted: () => this.#wanted(id),
      dropped: () => this.#dropped(id),
    });
    this.#streams.set(id, stream);
    if (this.#socket.destroyed) this.#ended();
    else this.#send(synStream(id, headers, id === 1), () => undefined);
    await stream.accepted;
    return stream;
  }

  /** Ends the connection and with it every stream. */
  destroy(): void {
    this.#socket.destroy();
  }

  #send(frame: Uint8Array, done: Done): void {
    if (this.#socket.destroyed || !this.#socket.writable) return done(gone());
    if (this.#socket.write(frame)) done();
    else this.#undrained.push(done);
  }

  #drained(): void {
    const waiting = this.#undrained;
    this.#undrained = [];
    for (const done of waiting) done();
  }

  #received(chunk: Uint8Array): void {
    for (const event of this.#parser.push(chunk)) this.#handle(event);
  }

  #handle(event: FrameEvent): void {
    switch (event.type) {
      case "Data":
        if (this.#streams.get(event.stream)?.receive(event.data) === false)
          this.#block(event.stream);
        return;
      case "Fin":
        this.#streams.get(event.stream)?.finish();
        return;
      case "Reply":
        this.#streams.get(event.stream)?.accept();
        return;
      case "Opened":
        // A server has nothing to open towards us.
        return this.#send(rstStream(event.stream, CANCEL), () => undefined);
      case "Reset":
        return this.#reset(event.stream, event.status);
      case "Ping":
        // With an even number it is the peer's question.
        if (((event.payload.at(3) ?? 1) & 1) === 0)
          this.#send(ping(event.payload), () => undefined);
        return;
      case "GoAway":
        return;
      case "Invalid":
        this.#socket.destroy(new AgentError({ reason: "StreamError", message: event.message }));
    }
  }

  #reset(id: number, status: number): void {
    const message = `the stream was reset (status ${status})`;
    this.#streams.get(id)?.cut(new AgentError({ reason: "StreamError", message }));
    this.#streams.delete(id);
  }

  #block(id: number): void {
    this.#full.add(id);
    this.#socket.pause();
  }

  #wanted(id: number): void {
    if (this.#full.delete(id) && this.#full.size === 0) this.#socket.resume();
  }

  /** Both ways have ended, or it was destroyed: then the peer may stop sending. */
  #dropped(id: number): void {
    this.#wanted(id);
    const stream = this.#streams.get(id);
    if (stream === undefined || !this.#streams.delete(id)) return;
    // What arrives at a peer that has closed makes it reset the connection, and the rest of the output would be lost.
    if (!stream.isFinished && !this.#socket.destroyed)
      this.#send(rstStream(id, CANCEL), () => undefined);
  }

  #ended(): void {
    const waiting = this.#undrained;
    this.#undrained = [];
    for (const done of waiting) done(gone());
    for (const stream of this.#streams.values()) stream.cut(gone());
    this.#streams.clear();
    this.#closed.resolve();
  }
}

function gone(): AgentError {
  return new AgentError({ reason: "StreamError", message: "the connection is closed" });
}
