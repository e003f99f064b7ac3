// Performs: lets work wait in whose hand the process has died twice, and keeps what is in hand written down. Nothing that
// runs is stopped for it.

import type { NodeCondition } from "../../api/v1/pod-status.ts";
import { Alarm } from "../../lib/alarm.ts";
import { aborted, type Clock, type Monotonic } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { handKey, type Hand } from "./hand.ts";
import type { HandsRecord } from "./hands-record.ts";
import {
  AFTER_JUDGED_MS,
  AFTER_SUBSCRIBED_MS,
  isSuspect,
  nextDueAt,
  nextToTry,
  TURN_MS,
  waitMessage,
  type GuardTimes,
} from "./when-to-begin.ts";

/** Reason of what waits: of containers, rejections, events and the condition's type. */
export const START_GUARD = "StartGuard";

/** Work in hand; disposing it releases it and leaves the count as it is. */
export interface Held extends Disposable {
  /** The work was done and the process lives: earlier deaths are forgotten. */
  settle(): void;
}

/** What a room asks before work whose size another party chose. */
export interface WorkGuard {
  /** Why the work has to wait; undefined = it may begin now. */
  waits(hand: Hand): string | undefined;
  /** Resolves true when the work may begin; false = `signal` has aborted. */
  free(hand: Hand, signal?: AbortSignal): Promise<boolean>;
  /** To be called right before the work. */
  hold(hand: Hand): Held;
}

/** For rooms that are built without a guard. */
export const UNGUARDED: WorkGuard = {
  waits: () => undefined,
  free: () => Promise.resolve(true),
  hold: () => ({ settle: () => undefined, [Symbol.dispose]: () => undefined }),
};

export interface StartGuardOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly hands: HandsRecord;
  /** A piece of work begins to wait. */
  readonly onWait: (hand: Hand, message: string) => void;
  /** `conditions()` has changed. */
  readonly onChange: () => void;
}

interface Waiter {
  readonly hand: Hand;
  readonly deaths: number;
  readonly resolve: () => void;
}

export class StartGuard implements WorkGuard, Disposable {
  readonly #options: StartGuardOptions;
  readonly #startedAt: Monotonic;
  readonly #alarm: Alarm;
  #askedAt: Monotonic | undefined;
  #waiting: readonly Waiter[] = [];
  /** The one suspect that is tried now. */
  #turn: { readonly key: string; readonly until: Monotonic } | undefined;
  #trouble: string | undefined;

  constructor(options: StartGuardOptions) {
    const { clock, log, hands } = options;
    this.#options = options;
    this.#startedAt = clock.monotonic();
    this.#alarm = new Alarm(clock, () => this.#next());
    for (const hand of hands.diedIn) {
      const { kind, name } = hand;
      log.warn("the agent ended without a clean stop while this was in hand", {
        kind,
        name,
        deaths: hands.deaths(hand),
      });
    }
  }

  /** The broker has answered the subscriptions; retained documents follow. */
  subscribed(): void {
    this.#askedBy(AFTER_SUBSCRIBED_MS);
  }

  /** A document was judged. */
  judged(): void {
    this.#askedBy(AFTER_JUDGED_MS);
  }

  conditions(): readonly NodeCondition[] {
    if (this.#waiting.length === 0) return [];
    const messages = new Set(this.#waiting.map(({ hand, deaths }) => waitMessage(hand, deaths)));
    const [message = ""] = messages;
    const more = messages.size > 1 ? `; ${messages.size - 1} more wait` : "";
    return [{ type: START_GUARD, status: "True", reason: "EndedTwice", message: message + more }];
  }

  waits(hand: Hand): string | undefined {
    const deaths = this.#options.hands.deaths(hand);
    const key = handKey(hand);
    if (!isSuspect(deaths) || this.#turn?.key === key) return undefined;
    const now = this.#options.clock.monotonic();
    const own = { hand, deaths, resolve: () => undefined };
    const all = this.#waiting.some((one) => handKey(one.hand) === key)
      ? this.#waiting
      : [...this.#waiting, own];
    const next = this.#turn === undefined ? nextToTry(all, now, this.#times) : undefined;
    if (next === undefined || handKey(next.hand) !== key) return waitMessage(hand, deaths);
    this.#give(key, now);
    return undefined;
  }

  async free(hand: Hand, signal: AbortSignal = new AbortController().signal): Promise<boolean> {
    const message = this.waits(hand);
    if (message === undefined || signal.aborted) return !signal.aborted;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter: Waiter = { hand, deaths: this.#options.hands.deaths(hand), resolve };
    const isKnown = this.#waiting.some((one) => handKey(one.hand) === handKey(hand));
    this.#waiting = [...this.#waiting, waiter];
    if (!isKnown) {
      this.#options.log.warn("work waits", { reason: START_GUARD, why: message });
      this.#options.onWait(hand, message);
      this.#options.onChange();
    }
    this.#setAlarm();
    await Promise.race([promise, aborted(signal)]);
    if (!this.#waiting.includes(waiter)) return !signal.aborted;
    this.#waiting = this.#waiting.filter((one) => one !== waiter);
    this.#options.onChange();
    this.#setAlarm();
    return false;
  }

  hold(hand: Hand): Held {
    const { hands } = this.#options;
    hands.hold(hand);
    this.#noteTrouble();
    let isHeld = true;
    const release = (): void => {
      if (isHeld) hands.release(hand);
      isHeld = false;
    };
    const settle = (): void => {
      release();
      hands.forget(hand);
      if (this.#turn?.key !== handKey(hand)) return;
      this.#turn = undefined;
      this.#next();
    };
    return { settle, [Symbol.dispose]: release };
  }

  /** At a clean stop. */
  stopped(): void {
    this.#options.hands.stopped();
  }

  [Symbol.dispose](): void {
    this.#alarm[Symbol.dispose]();
  }

  get #times(): GuardTimes {
    return { startedAt: this.#startedAt, askedAt: this.#askedAt };
  }

  #askedBy(ms: number): void {
    const at = this.#options.clock.monotonic() + ms;
    if (this.#askedAt !== undefined && this.#askedAt <= at) return;
    this.#askedAt = at;
    this.#setAlarm();
  }

  #give(key: string, now: Monotonic): void {
    this.#turn = { key, until: now + TURN_MS };
    const freed = this.#waiting.filter(({ hand }) => handKey(hand) === key);
    this.#waiting = this.#waiting.filter((one) => !freed.includes(one));
    for (const { resolve } of freed) resolve();
    if (freed.length > 0) this.#options.onChange();
    this.#setAlarm();
  }

  #next(): void {
    const now = this.#options.clock.monotonic();
    if (this.#turn !== undefined && this.#turn.until <= now) this.#turn = undefined;
    const next = this.#turn === undefined ? nextToTry(this.#waiting, now, this.#times) : undefined;
    if (next === undefined) this.#setAlarm();
    else this.#give(handKey(next.hand), now);
  }

  #setAlarm(): void {
    if (this.#waiting.length === 0) this.#alarm.set();
    else this.#alarm.set(this.#turn?.until ?? nextDueAt(this.#waiting, this.#times));
  }

  /** Once for each reason: without the file the next start does not know what ended this one. */
  #noteTrouble(): void {
    const { hands, log } = this.#options;
    if (hands.trouble !== undefined && hands.trouble !== this.#trouble)
      log.warn("cannot write down what is in hand; a death in it is not counted", {
        error: hands.trouble,
      });
    this.#trouble = hands.trouble;
  }
}
