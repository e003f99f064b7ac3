// Performs: grace periods, which can only become shorter while they run.

import type { Clock, Monotonic } from "../lib/clock.ts";
import {
  budgetOf,
  shortenedBudget,
  stopSeconds,
  turnEndsAt,
  type Budget,
} from "./decide/stop-order.ts";

/** kubelet's default, for a container without an annotation. */
const DEFAULT_SECONDS = 30;

/** The grace period of one stop, shared by what requested it and what performs it. */
export class GracePeriod {
  readonly #asked: number | undefined;
  #limit = Number.POSITIVE_INFINITY;
  readonly #listeners = new Set<() => void>();

  /** undefined = each container's annotation, else 30. */
  constructor(seconds: number | undefined) {
    this.#asked = seconds;
  }

  /** undefined = each container's own period. */
  get seconds(): number | undefined {
    const seconds = Math.min(this.#asked ?? Number.POSITIVE_INFINITY, this.#limit);
    return Number.isFinite(seconds) ? seconds : undefined;
  }

  /** For a container with `written` seconds in its annotation. */
  secondsFor(written: number | undefined): number {
    return Math.min(this.#asked ?? written ?? DEFAULT_SECONDS, this.#limit);
  }

  /** From now on at most `to` seconds; never longer than before. */
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
  /** Seconds in the container's annotation. */
  readonly written: number | undefined;
  readonly clock: Clock;
}

/** One container's grace period, counted from construction, for its hook, its waiting and its stop together. */
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

  /** The whole period. */
  get seconds(): number {
    return this.#budget.seconds;
  }

  /** Aborts when nothing is left. */
  get spent(): AbortSignal {
    return this.#spent.signal;
  }

  /** Aborts when waiting for other containers has to end: a little later, because they use their whole period too. */
  get turnOver(): AbortSignal {
    return this.#turnOver.signal;
  }

  /** Milliseconds left; never negative. */
  get leftMs(): number {
    return this.#until(this.#budget.endsAt);
  }

  /** The timeout of a StopContainer call made now. */
  get stopSeconds(): number {
    return stopSeconds(this.#budget, this.#options.clock.monotonic());
  }

  /** Calls `run` whenever the period was shortened, until disposed. */
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
