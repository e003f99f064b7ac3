// Performs: one stream of a tunnel: bytes both ways, each side no faster than the other takes them.

import { MAX_FRAME_DATA, type TunnelFrame } from "../../protocol/tunnel/frames.ts";

/** Bytes that one side sends before the other has taken any. */
export const STREAM_WINDOW = 256 * 1024;

/** Who gets what a stream brings. */
export interface StreamReceiver {
  /** Resolves when it may bring more. */
  readonly data: (data: Uint8Array) => Promise<void>;
  /** The other side sends no more. */
  readonly ended: () => void;
  /** Nothing comes any more, and nothing is taken. `isWhole`: both sides had ended. */
  readonly closed: (isWhole: boolean) => void;
  /** It is closed without being whole. Called at once, while `data` may still wait; `closed` follows when that is done. */
  readonly cut?: () => void;
}

export class TunnelStream {
  readonly id: number;
  readonly #send: (frame: TunnelFrame) => void;
  readonly #over: (stream: TunnelStream) => void;
  #receiver: StreamReceiver | undefined;
  /** What came before there was a receiver. */
  #early: (() => void)[] = [];
  #taking: Promise<void> = Promise.resolve();
  #writing: Promise<void> = Promise.resolve();
  #mayReceive = STREAM_WINDOW;
  #maySend = STREAM_WINDOW;
  readonly #waiters = new Set<() => void>();
  #hasEnded = false;
  #otherEnded = false;
  #isClosed = false;

  constructor(
    id: number,
    {
      send,
      over,
    }: {
      readonly send: (frame: TunnelFrame) => void;
      readonly over: (stream: TunnelStream) => void;
    },
  ) {
    this.id = id;
    this.#send = send;
    this.#over = over;
  }

  receive(receiver: StreamReceiver): void {
    this.#receiver = receiver;
    for (const run of this.#early.splice(0)) run();
  }

  /** Resolves when all of it is on its way, or the stream is closed. */
  write(data: Uint8Array): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write(data));
    return this.#writing;
  }

  async #write(data: Uint8Array): Promise<void> {
    for (let at = 0; at < data.length && !this.#isClosed;) {
      while (this.#maySend <= 0 && !this.#isClosed) await this.#change();
      const part = data.subarray(at, at + Math.min(MAX_FRAME_DATA, this.#maySend));
      if (this.#isClosed || this.#hasEnded) return;
      this.#maySend -= part.length;
      at += part.length;
      this.#send({ type: "data", stream: this.id, data: part });
    }
  }

  /** No more bytes from this side, after those that are being written. */
  end(): void {
    this.#writing = this.#writing.then(() => {
      if (this.#hasEnded || this.#isClosed) return;
      this.#hasEnded = true;
      this.#send({ type: "end", stream: this.id });
      this.#maybeOver();
    });
  }

  reset(): void {
    if (this.#isClosed) return;
    this.#send({ type: "reset", stream: this.id });
    this.close();
  }

  /** A frame of the other side. */
  take(frame: TunnelFrame): void {
    switch (frame.type) {
      case "data":
        return this.#takeData(frame.data);
      case "credit":
        this.#maySend += frame.bytes;
        return this.#wake();
      case "end":
        return this.#deliver(() => {
          this.#otherEnded = true;
          this.#receiver?.ended();
          this.#maybeOver();
        });
      case "reset":
        return this.close();
      case "open":
      case "ping":
      case "close":
    }
  }

  /** Without a word to the other side. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#wake();
    this.#over(this);
    const isWhole = this.#hasEnded && this.#otherEnded;
    if (!isWhole) this.#receiver?.cut?.();
    this.#deliver(() => this.#receiver?.closed(isWhole));
  }

  #takeData(data: Uint8Array): void {
    // More than it was allowed to: that side does not keep to the rules.
    if (data.length > this.#mayReceive) return this.reset();
    this.#mayReceive -= data.length;
    this.#deliver(async () => {
      await this.#receiver?.data(data);
      if (this.#isClosed) return;
      this.#mayReceive += data.length;
      this.#send({ type: "credit", stream: this.id, bytes: data.length });
    });
  }

  /** In order, after the data before it was taken. */
  #deliver(run: () => void | Promise<void>): void {
    const inOrder = (): void => {
      this.#taking = this.#taking.then(run).catch(() => this.reset());
    };
    if (this.#receiver === undefined) this.#early.push(inOrder);
    else inOrder();
  }

  #maybeOver(): void {
    if (this.#hasEnded && this.#otherEnded) this.close();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => void this.#waiters.add(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}
