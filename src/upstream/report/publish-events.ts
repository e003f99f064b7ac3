// Performs: writes events to the outbox: in batches, repetitions at most every ten minutes, and a count of dropped
// events.

import type { RecordedEvent } from "../../api/v1/events.ts";
import type { Clock, Monotonic } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import type { EventRing } from "../../store/outbox/event-ring.ts";
import { eventPayload, gapEvent } from "./event-batch.ts";
import { Alarm } from "../../lib/alarm.ts";

export interface EventUplinkOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly outbox: Pick<EventRing, "add" | "flush" | "settleDropped">;
  readonly topic: string;
  readonly node: string;
  readonly bootId: string;
  /** Normal events stay here: for lines that cost by the byte. */
  readonly warningsOnly?: () => boolean;
  /** A text as it may leave the node; absent = as it is. */
  readonly redact?: (text: string) => string;
  /** Rows were added to the outbox. */
  readonly onFlushed: () => void;
}

/** Events within this time are written together. */
const GATHER_MS = 1_000;
const FLUSH_MS = 10_000;
const REPEAT_MS = 600_000;
/** Events whose repetitions are held back; beyond it the one sent longest ago is forgotten. */
const MAX_SENT = 1_000;

interface Sent {
  readonly at: Monotonic;
  /** A repetition that waits until `REPEAT_MS` have passed. */
  readonly again?: RecordedEvent;
}

export class EventUplink implements Disposable {
  readonly #options: EventUplinkOptions;
  /** By the event's id, in the order in which they were sent. */
  readonly #sent = new Map<number, Sent>();
  #hasUnwritten = false;
  #flushedAt: Monotonic = Number.NEGATIVE_INFINITY;
  #isOver = false;
  readonly #next: Alarm;

  constructor(options: EventUplinkOptions) {
    this.#options = options;
    this.#next = new Alarm(options.clock, () => this.#due());
  }

  /** The event goes with the next flush; its repetitions every ten minutes, as one with their count. */
  add(event: RecordedEvent): void {
    if (this.#options.warningsOnly?.() === true && event.type === "Normal") return;
    const before = this.#sent.get(event.id);
    if (before === undefined) this.#send(event);
    else this.#sent.set(event.id, { at: before.at, again: event });
    this.#schedule();
  }

  /** A session is about to publish: reports dropped events now. */
  connected(): void {
    const { outbox, node, topic, bootId, clock, log } = this.#options;
    try {
      outbox.settleDropped((lost) => {
        const now = clock.now();
        const event = { ...gapEvent(lost, node), id: 0, count: 1, first: now, last: now };
        return { type: event.type, topic, payload: eventPayload(event, bootId) };
      });
    } catch (error) {
      log.error("cannot report dropped events", { error: messageOf(error) });
    }
  }

  /** Writes what waits for a flush; later events are not written any more. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#next[Symbol.dispose]();
    if (this.#hasUnwritten) this.#flush();
  }

  #send(event: RecordedEvent): void {
    const { outbox, topic, bootId, clock, redact } = this.#options;
    const message = redact?.(event.message) ?? event.message;
    const payload = eventPayload({ ...event, message }, bootId);
    outbox.add({ type: event.type, topic, payload });
    this.#hasUnwritten = true;
    this.#sent.delete(event.id);
    this.#sent.set(event.id, { at: clock.monotonic() });
    if (this.#sent.size <= MAX_SENT) return;
    const [oldest] = this.#sent.keys();
    if (oldest !== undefined) this.#sent.delete(oldest);
  }

  #schedule(): void {
    if (!this.#isOver) this.#next.by(this.#dueAt());
  }

  /** The next moment at which there is something to do. */
  #dueAt(): Monotonic | undefined {
    const floor = this.#flushedAt + FLUSH_MS;
    if (this.#hasUnwritten) return Math.max(floor, this.#options.clock.monotonic() + GATHER_MS);
    for (const { at, again } of this.#sent.values())
      if (again !== undefined) return Math.max(floor, at + REPEAT_MS);
    return undefined;
  }

  #due(): void {
    const until = this.#options.clock.monotonic() - REPEAT_MS;
    const due = [...this.#sent.values()].filter(({ at }) => at <= until);
    for (const { again } of due) if (again !== undefined) this.#send(again);
    if (this.#hasUnwritten) this.#flush();
    this.#schedule();
  }

  /** When the write fails, the events stay in memory, bounded, for the next flush. */
  #flush(): void {
    const { outbox, log, clock, onFlushed } = this.#options;
    this.#flushedAt = clock.monotonic();
    try {
      this.#hasUnwritten = false;
      if (outbox.flush()) onFlushed();
    } catch (error) {
      this.#hasUnwritten = true;
      log.error("cannot write down events", { error: messageOf(error) });
    }
  }
}
