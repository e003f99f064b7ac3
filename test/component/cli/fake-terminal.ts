// A terminal that remembers what was written, and whose time stands still until a test moves it.

import type { Clock } from "../../../src/lib/clock.ts";
import { PLAIN } from "../../../src/cli/terminal/palette.ts";
import type { Terminal } from "../../../src/cli/process-io.ts";

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export class FakeTerminal implements Terminal {
  stdout = "";
  stderr = "";
  isTerminal = true;
  palette = PLAIN;
  isErrTerminal = false;
  columns: number | undefined = undefined;
  isInteractive = true;
  environment: Record<string, string | undefined> = {};
  input = "";
  readonly clock: Clock;
  readonly #interrupt = new AbortController();
  readonly #timers = new Set<Timer>();
  #now = Date.parse("2026-01-01T00:12:00Z");
  #watchers: (() => void)[] = [];

  constructor() {
    this.clock = {
      now: () => this.#now,
      monotonic: () => this.#now,
      after: (ms, run) => {
        const timer = { at: this.#now + ms, run };
        this.#timers.add(timer);
        this.#changed();
        return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
      },
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted === true) return resolve();
          this.clock.after(ms, resolve);
          signal?.addEventListener("abort", () => resolve(), { once: true });
        }),
    };
  }

  out(text: string): void {
    this.stdout += text;
    this.#changed();
  }

  outBytes(bytes: Uint8Array): void {
    this.out(Buffer.from(bytes).toString("latin1"));
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  err(text: string): void {
    this.stderr += text;
    this.#changed();
  }

  interrupted(): AbortSignal {
    return this.#interrupt.signal;
  }

  readInput(): Promise<Uint8Array> {
    return Promise.resolve(new TextEncoder().encode(this.input));
  }

  readLine(): Promise<string> {
    const [line = "", ...rest] = this.input.split("\n");
    this.input = rest.join("\n");
    return Promise.resolve(line);
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Whether something has set a timer of exactly `ms` at this moment of the clock. */
  waits(ms: number): boolean {
    return [...this.#timers].some(({ at }) => at === this.#now + ms);
  }

  pressCtrlC(): void {
    this.#interrupt.abort();
  }

  /** Waits until something has set a timer of exactly `ms`, then lets that much time pass. */
  async pass(ms: number): Promise<void> {
    await this.until(() => this.waits(ms));
    this.#now += ms;
    for (const timer of this.#timers) {
      if (timer.at > this.#now) continue;
      this.#timers.delete(timer);
      timer.run();
    }
  }

  /** Waits until `done` holds; it is asked again whenever something was written or a timer was set. */
  async until(done: () => boolean): Promise<void> {
    while (!done()) await new Promise<void>((resolve) => void this.#watchers.push(resolve));
  }

  #changed(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const wake of watchers) wake();
  }
}
