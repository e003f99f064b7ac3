// Performs: hands events to the outbox: together, a repetition seldom, and a word about those that were dropped.

import type { EventType, RecordedEvent } from "../../api/v1/events.ts";
import type { Clock, Monotonic } from "../../lib/clock.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { eventPayload, gapEvent, type Lost } from "./event-batch.ts";

/** One event as a row of the outbox. */
export interface EventRow {
  readonly type: EventType;
  readonly topic: string;
  readonly payload: Uint8Array;
}

/** What events need of the outbox; store/outbox is one. */
export interface EventOutbox {
  /** Kept in memory until `flushEvents`, which throws when the disk is full and may be called again. */
  addEvent(row: EventRow): void;
  /** True when there was something to write. */
  flushEvents(): boolean;
  /** If events were dropped: writes down what `say` makes of it and counts from 0 again. True when there were some. */
  settleDropped(say: (lost: Lost) => EventRow): boolean;
}

export interface EventUplinkOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly outbox: EventOutbox;
  readonly topic: string;
  readonly node: string;
  readonly bootId: string;
  /** Normal events stay here: for lines that cost by the byte. */
  readonly warningsOnly?: boolean;
  /** A text as it may leave the node; absent = as it is. */
  readonly redact?: (text: string) => string;
  /** There is something new in the outbox. */
  readonly onFlushed: () => void;
}

/** What happens together is written together. */
const GATHER_MS = 1_000;
const FLUSH_MS = 10_000;
const REPEAT_MS = 600_000;
/** Events whose repetitions are held back; beyond it the one longest not said is forgotten. */
const MAX_SAID = 1_000;

interface Said {
  readonly at: Monotonic;
  /** A repetition that waits until `REPEAT_MS` have passed. */
  readonly again?: RecordedEvent;
}

export class EventUplink implements Disposable {
  readonly #options: EventUplinkOptions;
  /** By the event's id, in the order they were said. */
  readonly #said = new Map<number, Said>();
  #hasNews = false;
  #flushedAt: Monotonic = Number.NEGATIVE_INFINITY;
  #isOver = false;
  #timer: { readonly at: Monotonic; readonly handle: Disposable } | undefined;

  constructor(options: EventUplinkOptions) {
    this.#options = options;
  }

  /** The event goes with the next flush; its repetitions every ten minutes, as one with their count. */
  add(event: RecordedEvent): void {
    if (this.#options.warningsOnly === true && event.type === "Normal") return;
    const before = this.#said.get(event.id);
    if (before === undefined) this.#say(event);
    else this.#said.set(event.id, { at: before.at, again: event });
    this.#schedule();
  }

  /** A session is about to publish: a gap is told now, when somebody listens. */
  connected(): void {
    const { outbox, node, topic, bootId, clock, log } = this.#options;
    try {
      outbox.settleDropped((lost) => {
        const now = clock.now();
        const event = { ...gapEvent(lost, node), id: 0, count: 1, first: now, last: now };
        return { type: event.type, topic, payload: eventPayload(event, bootId) };
      });
    } catch (error) {
      log.error("cannot tell the gap in the events", { error: messageOf(error) });
    }
  }

  /** What waits for a flush is written now; what comes later is not written any more. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.handle[Symbol.dispose]();
    this.#timer = undefined;
    if (this.#hasNews) this.#flush();
  }

  #say(event: RecordedEvent): void {
    const { outbox, topic, bootId, clock, redact } = this.#options;
    const message = redact?.(event.message) ?? event.message;
    const payload = eventPayload({ ...event, message }, bootId);
    outbox.addEvent({ type: event.type, topic, payload });
    this.#hasNews = true;
    this.#said.delete(event.id);
    this.#said.set(event.id, { at: clock.monotonic() });
    if (this.#said.size <= MAX_SAID) return;
    const [oldest] = this.#said.keys();
    if (oldest !== undefined) this.#said.delete(oldest);
  }

  /** One timer for the next moment at which there is something to do. */
  #schedule(): void {
    if (this.#isOver) return;
    const at = this.#dueAt();
    if (at === undefined || (this.#timer !== undefined && this.#timer.at <= at)) return;
    this.#timer?.handle[Symbol.dispose]();
    const { clock } = this.#options;
    const handle = clock.after(Math.max(0, at - clock.monotonic()), () => this.#due());
    this.#timer = { at, handle };
  }

  #dueAt(): Monotonic | undefined {
    const floor = this.#flushedAt + FLUSH_MS;
    if (this.#hasNews) return Math.max(floor, this.#options.clock.monotonic() + GATHER_MS);
    for (const { at, again } of this.#said.values())
      if (again !== undefined) return Math.max(floor, at + REPEAT_MS);
    return undefined;
  }

  #due(): void {
    this.#timer = undefined;
    const until = this.#options.clock.monotonic() - REPEAT_MS;
    const due = [...this.#said.values()].filter(({ at }) => at <= until);
    for (const { again } of due) if (again !== undefined) this.#say(again);
    if (this.#hasNews) this.#flush();
    this.#schedule();
  }

  /** What the disk does not take stays in memory, bounded, for the next time. */
  #flush(): void {
    const { outbox, log, clock, onFlushed } = this.#options;
    this.#flushedAt = clock.monotonic();
    try {
      this.#hasNews = false;
      if (outbox.flushEvents()) onFlushed();
    } catch (error) {
      this.#hasNews = true;
      log.error("cannot write down events", { error: messageOf(error) });
    }
  }
}
