// Performs: a tunnel between an operator and a node, over a way that loses, delays and repeats packets: its streams arrive
// whole and in order, or the tunnel ends.

import { formatDuration } from "../../api/resource/duration.ts";
import { Alarm } from "../../lib/alarm.ts";
import { earliest, type Clock, type Monotonic } from "../../lib/clock.ts";
import { takeToken, type TokenBucket, type TokenBucketPolicy } from "../../lib/token-bucket.ts";
import {
  readFrame,
  readPacket,
  writeFrame,
  writePacket,
  type TunnelFrame,
} from "../../protocol/tunnel/frames.ts";
import { Reliable } from "../../protocol/tunnel/reliable.ts";
import type { TunnelCipher, TunnelSide } from "./tunnel-cipher.ts";
import { TunnelStream } from "./tunnel-stream.ts";

/** Streams at the same time. */
const MAX_STREAMS = 16;
/** Without a packet of the other side for so long, it is gone. */
const LOST_MS = 90_000;
/** An operator shows that often that it is there. */
const PING_MS = 20_000;
/** For so long it repeats why it ends, until the other side has confirmed that. */
const LAST_WORD_MS = 15_000;
/** Below what a node takes of its broker. */
const RATE: TokenBucketPolicy = { burst: 300, perSecond: 120 };

export interface TunnelOptions {
  readonly clock: Clock;
  readonly cipher: TunnelCipher;
  readonly side: TunnelSide;
  /** Sends a packet, or loses it; never throws. */
  readonly send: (packet: Uint8Array) => void;
  /** The other side has opened a stream; absent = it may not. */
  readonly onStream?: (stream: TunnelStream) => void;
  /** Without bytes of a stream for so long it ends; absent = never. */
  readonly idleMs?: number;
  /** It ends after so long; absent = never. */
  readonly totalMs?: number;
}

export interface TunnelEnd {
  /** A sentence. */
  readonly reason: string;
  /** Bytes of streams that this side has received and sent. */
  readonly received: number;
  readonly sent: number;
}

export class Tunnel {
  /** Never rejects. */
  readonly ended: Promise<TunnelEnd>;
  readonly #options: TunnelOptions;
  readonly #reliable = new Reliable();
  readonly #streams = new Map<number, TunnelStream>();
  readonly #alarm: Alarm;
  readonly #began: Monotonic;
  readonly #resolve: (end: TunnelEnd) => void;
  #heardAt: Monotonic;
  #pingAt: Monotonic;
  #usedAt: Monotonic;
  readonly #waiters = new Set<() => void>();
  #rate: TokenBucket | undefined;
  #nextStream = 1;
  #isOver = false;
  /** The last word is under way. */
  #ending: { readonly reason: string; readonly by: Monotonic } | undefined;
  #received = 0;
  #sent = 0;

  constructor(options: TunnelOptions) {
    this.#options = options;
    const { promise, resolve } = Promise.withResolvers<TunnelEnd>();
    this.ended = promise;
    this.#resolve = resolve;
    const now = options.clock.monotonic();
    this.#began = now;
    this.#heardAt = now;
    this.#usedAt = now;
    this.#pingAt = now;
    this.#alarm = new Alarm(options.clock, () => this.#pump());
    this.#pump();
  }

  /** Waits while there are too many streams. Rejects with Error when the tunnel is over. */
  async open(): Promise<TunnelStream> {
    while (this.#streams.size >= MAX_STREAMS && !this.#isOver)
      await new Promise<void>((resolve) => void this.#waiters.add(resolve));
    if (this.#isOver) throw new Error("the session is over");
    const stream = this.#newStream(this.#nextStream);
    this.#nextStream += 1;
    this.#frame({ type: "open", stream: stream.id });
    return stream;
  }

  /** A packet has come; one that is not of the other side is passed over. */
  receive(bytes: Uint8Array): void {
    if (this.#isOver) return;
    const plain = this.#options.cipher.open(bytes);
    const packet = plain === undefined ? undefined : readPacket(plain);
    if (packet === undefined) return;
    const now = this.#options.clock.monotonic();
    this.#heardAt = now;
    const body = this.#reliable.receive(packet, now);
    const frame = body === undefined ? undefined : readFrame(body);
    if (frame !== undefined) this.#take(frame);
    this.#pump();
  }

  /** The way is up again. */
  resumed(): void {
    this.#reliable.resumed();
    this.#pump();
  }

  /** Tells the other side once, as far as the way carries it, and ends. */
  close(reason: string): void {
    if (this.#isOver) return;
    this.#closeStreams(reason);
    this.#pump();
    this.#end(this.#ending?.reason ?? reason);
  }

  #take(frame: TunnelFrame): void {
    switch (frame.type) {
      case "ping":
        return;
      case "close":
        this.#reliable.confirm();
        this.#pump();
        return this.#end(this.#ending?.reason ?? frame.reason);
      case "open":
        return this.#opened(frame.stream);
      case "data":
        this.#received += frame.data.length;
        this.#usedAt = this.#options.clock.monotonic();
        break;
      case "end":
      case "reset":
      case "credit":
    }
    this.#streams.get(frame.stream)?.take(frame);
  }

  #opened(id: number): void {
    const { onStream } = this.#options;
    if (this.#ending !== undefined) return;
    if (onStream === undefined || this.#streams.has(id) || this.#streams.size >= MAX_STREAMS)
      return this.#frame({ type: "reset", stream: id });
    onStream(this.#newStream(id));
  }

  #newStream(id: number): TunnelStream {
    const stream = new TunnelStream(id, {
      send: (frame) => this.#frame(frame),
      over: () => {
        this.#streams.delete(id);
        this.#wake();
      },
    });
    this.#streams.set(id, stream);
    return stream;
  }

  #frame(frame: TunnelFrame): void {
    if (this.#isOver || this.#ending !== undefined) return;
    if (frame.type === "data") {
      this.#sent += frame.data.length;
      this.#usedAt = this.#options.clock.monotonic();
    }
    this.#reliable.send(writeFrame(frame));
    this.#pump();
  }

  /** Sends what may be sent now, and sets the alarm for what comes later. */
  #pump(): void {
    if (this.#isOver) return;
    const { clock, side, cipher, send } = this.#options;
    const now = clock.monotonic();
    if (now - this.#heardAt >= LOST_MS)
      return this.#end(
        this.#ending?.reason ?? `the other side was not heard for ${LOST_MS / 1000} s`,
      );
    const limit = this.#limitReached(now);
    if (limit !== undefined) this.#closeStreams(limit);
    if (side === "operator" && now >= this.#pingAt) {
      this.#pingAt = now + PING_MS;
      this.#reliable.send(writeFrame({ type: "ping" }));
    }
    let isHeldBack = false;
    for (;;) {
      const rate = takeToken(this.#rate, now, RATE);
      isHeldBack = rate === undefined;
      if (rate === undefined) break;
      const packet = this.#reliable.next(now);
      if (packet === undefined) break;
      this.#rate = rate;
      send(cipher.seal(writePacket(packet)));
    }
    const ending = this.#ending;
    if (ending !== undefined && (this.#reliable.backlog === 0 || now >= ending.by))
      return this.#end(ending.reason);
    const again = isHeldBack ? now + 1_000 / RATE.perSecond : this.#reliable.nextAt();
    this.#alarm.set(earliest([...this.#limits(), again]));
  }

  /** Why it ends by itself now. */
  #limitReached(now: Monotonic): string | undefined {
    if (this.#ending !== undefined) return undefined;
    const { idleMs = Infinity, totalMs = Infinity } = this.#options;
    if (now - this.#usedAt >= idleMs) return `nothing was sent for ${formatDuration(idleMs)}`;
    return now - this.#began >= totalMs
      ? `a session lasts at most ${formatDuration(totalMs)}`
      : undefined;
  }

  /** When it has to be looked after at the latest. */
  #limits(): readonly (Monotonic | undefined)[] {
    const { side, idleMs = Infinity, totalMs = Infinity } = this.#options;
    const ping = side === "operator" ? this.#pingAt : undefined;
    const lost = this.#heardAt + LOST_MS;
    if (this.#ending !== undefined) return [lost, ping, this.#ending.by];
    return [lost, ping, this.#usedAt + idleMs, this.#began + totalMs];
  }

  /** Nothing but the reason is sent any more. */
  #closeStreams(reason: string): void {
    if (this.#ending !== undefined) return;
    this.#ending = { reason, by: this.#options.clock.monotonic() + LAST_WORD_MS };
    for (const stream of this.#streams.values()) stream.close();
    this.#reliable.forgetWaiting();
    this.#reliable.send(writeFrame({ type: "close", reason }));
  }

  #wake(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }

  #end(reason: string): void {
    this.#isOver = true;
    this.#wake();
    this.#alarm[Symbol.dispose]();
    for (const stream of this.#streams.values()) stream.close();
    this.#resolve({ reason, received: this.#received, sent: this.#sent });
  }
}
