// Performs: how long something may take to stop: a number that can only become smaller while it is used.

import type { Clock, Monotonic } from "../lib/clock.ts";
import {
  budgetOf,
  shortenedBudget,
  stopSeconds,
  turnEndsAt,
  type Budget,
} from "./decide/stop-order.ts";

/** kubelet's default, for a container that nobody wrote anything on. */
const DEFAULT_SECONDS = 30;

/** The grace period of one stop, shared by whoever ordered it and whoever performs it. */
export class GracePeriod {
  readonly #asked: number | undefined;
  #limit = Number.POSITIVE_INFINITY;
  readonly #listeners = new Set<() => void>();

  /** undefined = what is written on each container, else 30. */
  constructor(seconds: number | undefined) {
    this.#asked = seconds;
  }

  /** undefined = each container's own. */
  get seconds(): number | undefined {
    const seconds = Math.min(this.#asked ?? Number.POSITIVE_INFINITY, this.#limit);
    return Number.isFinite(seconds) ? seconds : undefined;
  }

  /** For a container on which `written` seconds are written. */
  secondsFor(written: number | undefined): number {
    return Math.min(this.#asked ?? written ?? DEFAULT_SECONDS, this.#limit);
  }

  /** From now on at most `to` seconds; longer than before is never. */
  shorten(to: number): void {
    if (to >= Math.min(this.#asked ?? Number.POSITIVE_INFINITY, this.#limit)) return;
    this.#limit = Math.max(0, to);
    for (const run of this.#listeners) run();
  }

  /** Calls `run` at each shortening until disposed. */
  onShortened(run: () => void): Disposable {
    this.#listeners.add(run);
    return { [Symbol.dispose]: (): void => void this.#listeners.delete(run) };
  }
}

export interface StopBudgetOptions {
  readonly grace: GracePeriod;
  /** Seconds written on the container. */
  readonly written: number | undefined;
  readonly clock: Clock;
}

/** One container's share, counted from its making; hook, waiting and stop all live on it. Dispose it in the end. */
export class StopBudget implements Disposable {
  readonly #options: StopBudgetOptions;
  readonly #spent = new AbortController();
  readonly #turnOver = new AbortController();
  readonly #shortened: Disposable;
  readonly #onShortened = new Set<() => void>();
  #budget: Budget;
  #timers: readonly Disposable[] = [];

  constructor(options: StopBudgetOptions) {
    const { grace, written, clock } = options;
    this.#options = options;
    this.#budget = budgetOf(grace.secondsFor(written), clock.monotonic());
    this.#arm();
    this.#shortened = grace.onShortened(() => this.#shorten());
  }

  /** The whole. */
  get seconds(): number {
    return this.#budget.seconds;
  }

  /** Aborts when nothing is left, which a shortening may hasten. */
  get spent(): AbortSignal {
    return this.#spent.signal;
  }

  /** Aborts when waiting for others has to end: a little later, for they too live to the end of their share. */
  get turnOver(): AbortSignal {
    return this.#turnOver.signal;
  }

  /** ms left; never negative. */
  get leftMs(): number {
    return this.#until(this.#budget.endsAt);
  }

  /** What StopContainer gets when it is called now. */
  get stopSeconds(): number {
    return stopSeconds(this.#budget, this.#options.clock.monotonic());
  }

  /** Calls `run` whenever the end has come nearer, until disposed. */
  onShortened(run: () => void): Disposable {
    this.#onShortened.add(run);
    return { [Symbol.dispose]: (): void => void this.#onShortened.delete(run) };
  }

  [Symbol.dispose](): void {
    this.#shortened[Symbol.dispose]();
    this.#disarm();
  }

  #shorten(): void {
    const { grace, written, clock } = this.#options;
    const before = this.#budget;
    const seconds = grace.secondsFor(written);
    this.#budget = shortenedBudget(before, seconds, clock.monotonic());
    if (this.#budget.endsAt === before.endsAt && this.#budget.seconds === before.seconds) return;
    this.#arm();
    for (const run of this.#onShortened) run();
  }

  #arm(): void {
    this.#disarm();
    this.#timers = [
      this.#abortAt(this.#spent, this.#budget.endsAt),
      this.#abortAt(this.#turnOver, turnEndsAt(this.#budget)),
    ];
  }

  #disarm(): void {
    for (const timer of this.#timers) timer[Symbol.dispose]();
  }

  #abortAt(controller: AbortController, at: Monotonic): Disposable {
    const abort = (): void => controller.abort(new Error("the grace period is over"));
    const left = this.#until(at);
    if (left > 0) return this.#options.clock.after(left, abort);
    abort();
    return { [Symbol.dispose]: (): void => undefined };
  }

  #until(at: Monotonic): number {
    return Math.max(0, at - this.#options.clock.monotonic());
  }
}
