// Numbered messages over a way that loses whatever is under way when a connection ends: what is sent is kept until the other
// side confirms it, and sent again after a while. Pure: the caller has the clock and the way.

import type { Monotonic } from "../../lib/clock.ts";

/** What one packet carries, before it is encrypted. */
export interface ReliablePacket {
  /** The number of the next message that this side expects: all before have arrived. */
  readonly expects: number;
  /** Absent = the packet only confirms. */
  readonly message?: { readonly number: number; readonly body: Uint8Array };
}

interface Sent {
  readonly number: number;
  readonly body: Uint8Array;
  readonly at: Monotonic;
  /** It was sent more than once, so that its confirmation says nothing about the time of a round trip. */
  readonly again: boolean;
}

/** Messages under way without a confirmation: with 32 KiB each a line of 300 ms carries 3 MB/s. */
const WINDOW = 32;
/** Messages that arrived and are confirmed together at the latest. */
const CONFIRM_AFTER = 8;
const CONFIRM_MS = 40;
const FIRST_ROUND_TRIP_MS = 1_500;
const SHORTEST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;

/** One side. Messages come out on the other side once each and in order, or not at all. */
export class Reliable {
  readonly #waiting: Uint8Array[] = [];
  #sent: readonly Sent[] = [];
  #next = 0;
  /** One more than the highest number that was ever sent. */
  #highest = 0;
  #expects = 0;
  /** Arrived and not confirmed yet. */
  #unconfirmed = 0;
  #confirmBy: Monotonic | undefined;
  #roundTrip = FIRST_ROUND_TRIP_MS;
  /** Waits in a row that brought no confirmation. */
  #silent = 0;

  /** Messages that are not confirmed. */
  get backlog(): number {
    return this.#waiting.length + this.#sent.length;
  }

  send(body: Uint8Array): void {
    this.#waiting.push(body);
  }

  /** The body, if it is the message that comes next; undefined = it came before, or one before it is missing. */
  receive({ expects, message }: ReliablePacket, now: Monotonic): Uint8Array | undefined {
    this.#confirmed(expects, now);
    if (message === undefined) return undefined;
    // Also of what came before: the confirmation was lost.
    this.#unconfirmed += 1;
    this.#confirmBy ??= now + CONFIRM_MS;
    if (message.number !== this.#expects) return undefined;
    this.#expects += 1;
    return message.body;
  }

  /** The next packet to send now; undefined = there is none until `nextAt`. */
  next(now: Monotonic): ReliablePacket | undefined {
    const [oldest] = this.#sent;
    if (oldest !== undefined && now >= this.#dueAt(oldest)) {
      this.#silent += 1;
      this.again();
    }
    const body = this.#sent.length < WINDOW ? this.#waiting.shift() : undefined;
    if (body !== undefined) {
      const number = this.#next;
      this.#next += 1;
      const again = number < this.#highest;
      this.#highest = Math.max(this.#highest, this.#next);
      this.#sent = [...this.#sent, { number, body, at: now, again }];
      return this.#packet({ number, body });
    }
    const isDue = this.#confirmBy !== undefined && now >= this.#confirmBy;
    return isDue || this.#unconfirmed >= CONFIRM_AFTER ? this.#packet() : undefined;
  }

  /** When `next` has to be asked again at the latest; undefined = only a message or a packet changes something. */
  nextAt(): Monotonic | undefined {
    const [oldest] = this.#sent;
    const due = oldest === undefined ? undefined : this.#dueAt(oldest);
    if (due === undefined || this.#confirmBy === undefined) return due ?? this.#confirmBy;
    return Math.min(due, this.#confirmBy);
  }

  /** The way is new: whatever was under way is lost. */
  again(): void {
    const [oldest] = this.#sent;
    if (oldest === undefined) return;
    this.#waiting.unshift(...this.#sent.map(({ body }) => body));
    this.#sent = [];
    this.#next = oldest.number;
  }

  /** The way is up again: nothing is waited out. */
  resumed(): void {
    this.#silent = 0;
    this.again();
    this.confirm();
  }

  /** The next packet confirms, without waiting for others. */
  confirm(): void {
    this.#unconfirmed = Math.max(this.#unconfirmed, CONFIRM_AFTER);
  }

  /** What was never under way is not sent. */
  forgetWaiting(): void {
    // The first ones may have arrived: their numbers are taken.
    this.#waiting.length = Math.min(this.#waiting.length, this.#highest - this.#next);
  }

  #packet(message?: ReliablePacket["message"]): ReliablePacket {
    this.#unconfirmed = 0;
    this.#confirmBy = undefined;
    return { expects: this.#expects, ...(message === undefined ? {} : { message }) };
  }

  #confirmed(expects: number, now: Monotonic): void {
    const confirmed = this.#sent.filter(({ number }) => number < expects);
    const newest = confirmed.at(-1);
    if (newest === undefined) return;
    this.#silent = 0;
    this.#sent = this.#sent.filter(({ number }) => number >= expects);
    if (!newest.again) this.#roundTrip = 0.8 * this.#roundTrip + 0.2 * (now - newest.at);
  }

  #dueAt({ at }: Sent): Monotonic {
    const wait = Math.max(SHORTEST_WAIT_MS, 3 * this.#roundTrip) * 2 ** Math.min(this.#silent, 8);
    return at + Math.min(wait, LONGEST_WAIT_MS);
  }
}
