// Performs: one stream of a SPDY connection as a Duplex: `end()` half-closes it, `destroy()` resets it.

import { Duplex } from "node:stream";

export type Done = (error?: Error | null) => void;

/** What a stream uses of its connection. */
export interface StreamWire {
  /** `done` is called when more can be sent, or with the error that nothing can. */
  send(data: Uint8Array, isLast: boolean, done: Done): void;
  /** The reader has taken all that has come. */
  wanted(): void;
  /** Both directions have ended, or it was destroyed. */
  dropped(): void;
}

/** Bytes of one data frame. */
const MAX_DATA = 64 * 1024;
const NOTHING = new Uint8Array();

export class SpdyStream extends Duplex {
  readonly #wire: StreamWire;
  readonly #accepted = Promise.withResolvers<void>();
  #isFinished = false;
  #cut: Error | undefined;

  constructor(wire: StreamWire) {
    super({ readableHighWaterMark: MAX_DATA, writableHighWaterMark: MAX_DATA });
    this.#wire = wire;
    // A failed write is reported to its writer; that must not end the process.
    this.on("error", () => undefined);
    this.#accepted.promise.catch(() => undefined);
  }

  /** Rejects if the peer refuses it or the connection ends before. */
  get accepted(): Promise<void> {
    return this.#accepted.promise;
  }

  accept(): void {
    this.#accepted.resolve();
  }

  /** The peer has ended the stream. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** false = the reader has enough. */
  receive(data: Uint8Array): boolean {
    return this.#isFinished || this.push(data);
  }

  /** The peer sends no more. */
  finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.push(null);
  }

  /** It was reset, or the connection is gone: what has come can still be read, and no write succeeds. */
  cut(error: Error): void {
    this.#accepted.reject(error);
    this.#cut = error;
    this.finish();
  }

  override _read(): void {
    this.#wire.wanted();
  }

  override _write(chunk: Uint8Array, _encoding: string, done: Done): void {
    if (this.#cut !== undefined) return done(this.#cut);
    const part = chunk.subarray(0, MAX_DATA);
    const rest = chunk.subarray(MAX_DATA);
    this.#wire.send(part, false, (error) => {
      if (rest.length === 0 || (error !== undefined && error !== null)) done(error);
      else this._write(rest, "buffer", done);
    });
  }

  override _final(done: Done): void {
    if (this.#cut === undefined) this.#wire.send(NOTHING, true, done);
    else done();
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#accepted.reject(error ?? new Error("the stream was closed"));
    this.#wire.dropped();
    done(error);
  }
}
