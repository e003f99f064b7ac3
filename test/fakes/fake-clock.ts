// Time that moves only when a test says so. Timers fire in the order of their time, equal times in the order they were set.

import type { Clock, Monotonic } from "../../src/lib/clock.ts";

export interface VirtualClockOptions {
  /** Wall ms at the start; default 2026-11-21T08:00:00Z. */
  readonly wall?: number;
  /** Ms since boot at the start; default one hour: nobody waits because the machine has just booted. */
  readonly monotonic?: Monotonic;
}

interface Timer {
  readonly at: Monotonic;
  readonly order: number;
  readonly run: () => void;
}

const SHORTEST_MS = 0.001;

export class VirtualClock implements Clock {
  #monotonic: Monotonic;
  #wallOffset: number;
  #order = 0;
  readonly #timers = new Set<Timer>();

  constructor(options: VirtualClockOptions = {}) {
    this.#monotonic = options.monotonic ?? 3_600_000;
    this.#wallOffset = (options.wall ?? Date.UTC(2026, 10, 21, 8)) - this.#monotonic;
  }

  now(): number {
    // Whole ms, as Date.now() tells them.
    return Math.floor(this.#monotonic + this.#wallOffset);
  }

  monotonic(): Monotonic {
    return this.#monotonic;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise<void>((resolve) => {
      if (signal?.aborted === true) return resolve();
      const done = (): void => {
        timer[Symbol.dispose]();
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = this.after(ms, done);
      signal?.addEventListener("abort", done, { once: true });
    });
  }

  after(ms: number, run: () => void): Disposable {
    this.#order += 1;
    const due = this.#monotonic + Math.max(0, ms);
    // So short that time would stand still: no timer of a machine is.
    const at = ms > 0 && due === this.#monotonic ? due + SHORTEST_MS : due;
    const timer: Timer = { at, order: this.#order, run };
    this.#timers.add(timer);
    return { [Symbol.dispose]: (): void => void this.#timers.delete(timer) };
  }

  /** Lets everything that can go on without time go on. */
  async settle(): Promise<void> {
    // A macrotask runs only when no microtask is left, however long the chain of promises is.
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }

  /** Moves time by `ms`, firing each timer on its way and letting its consequences run before the next one. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await this.settle();
    for (let next = this.#nextBefore(end); next !== undefined; next = this.#nextBefore(end)) {
      this.#monotonic = Math.max(this.#monotonic, next.at);
      this.#timers.delete(next);
      next.run();
      await this.settle();
    }
    this.#monotonic = Math.max(this.#monotonic, end);
  }

  /** Work that takes time: no timer fires before it ends. */
  spend(ms: number): void {
    this.#monotonic += ms;
  }

  /** The wall clock steps (NTP, a dead RTC battery); monotonic time does not notice. */
  stepWall(ms: number): void {
    this.#wallOffset += ms;
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#timers.size;
  }

  #nextBefore(end: Monotonic): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > end) continue;
      const earlier =
        first === undefined ||
        timer.at < first.at ||
        (timer.at === first.at && timer.order < first.order);
      if (earlier) first = timer;
    }
    return first;
  }
}
