// The last moments of a process: everything it does to the world, and everything it hears of it, is counted, and at a
// given count it is dead: no edge, timer or write of it does anything any more, for ever.

import type { RuntimeEvent, RuntimeEvents } from "../../src/containerd/runtime-events.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import type { Files } from "../../src/host/files.ts";
import type { Clock, Monotonic } from "../../src/lib/clock.ts";
import type { MqttLink, MqttSession } from "../../src/mqtt/mqtt-link.ts";

/** What a dead process's synchronous calls end with: code after them is code that no longer exists. */
export class Dead extends Error {
  constructor() {
    super("this process is dead");
  }
}

/** Whether `thrown` came of a death, be it wrapped in other words. */
export function isDeath(thrown: unknown): boolean {
  return thrown instanceof Dead || (thrown instanceof Error && isDeath(thrown.cause));
}

export class Mortal {
  readonly #onDeath: () => void;
  readonly #died = new AbortController();
  #left = Number.POSITIVE_INFINITY;

  constructor(onDeath: () => void) {
    this.#onDeath = onDeath;
  }

  get alive(): boolean {
    return !this.#died.signal.aborted;
  }

  get isDoomed(): boolean {
    return !this.alive || this.#left !== Number.POSITIVE_INFINITY;
  }

  /** Dies before its n-th act from now; 0 = now. */
  doom(acts: number): void {
    this.#left = Math.min(this.#left, acts);
    if (acts <= 0) this.die();
  }

  die(): void {
    if (!this.alive) return;
    this.#died.abort();
    this.#onDeath();
  }

  /** Before every act; false = dead, the act does not happen. */
  act(): boolean {
    this.#left -= 1;
    if (this.alive && this.#left <= 0) this.die();
    return this.alive;
  }

  /** The same where there is no waiting for ever. */
  mustAct(): void {
    if (!this.act()) throw new Dead();
  }

  mustLive(): void {
    if (!this.alive) throw new Dead();
  }

  cri(cri: CriClient): CriClient {
    return new Proxy(cri, {
      get: (target, name): unknown => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          if (!this.act()) return never();
          const result: unknown = Reflect.apply(member, target, args);
          return result instanceof Promise ? this.answer(result) : result;
        };
      },
    });
  }

  events(events: RuntimeEvents): RuntimeEvents {
    return { subscribe: (signal) => this.#stream(events, signal) };
  }

  async *#stream(events: RuntimeEvents, signal: AbortSignal): AsyncGenerator<RuntimeEvent> {
    if (!this.act()) await never();
    const both = AbortSignal.any([signal, this.#died.signal]);
    try {
      for await (const event of events.subscribe(both)) {
        if (!this.act()) await never();
        yield event;
      }
    } catch (thrown) {
      if (!this.alive) await never();
      throw thrown;
    }
    if (!this.alive) await never();
  }

  /** `before` sees the name of every call and may throw in its place. */
  files(files: Files, before: (method: string) => void): Files {
    return new Proxy(files, {
      get: (_, name): unknown => {
        const member: unknown = Reflect.get(files, name, files);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          // A note for the next process, which is no act of its own: the world cannot end between it and the work.
          if (name === "writeInPlace") this.mustLive();
          else this.mustAct();
          before(String(name));
          return Reflect.apply(member, files, args);
        };
      },
    });
  }

  mqtt(link: MqttLink): MqttLink {
    return {
      connect: async (options, onMessage, signal) => {
        if (!this.act()) return never();
        const heard: typeof onMessage = (message) => {
          if (this.act()) onMessage(message);
        };
        return this.#session(await this.answer(link.connect(options, heard, signal)));
      },
    };
  }

  #session(session: MqttSession): MqttSession {
    return {
      ack: session.ack,
      ended: this.answer(session.ended),
      subscribe: (filters) => (this.act() ? this.answer(session.subscribe(filters)) : never()),
      unsubscribe: (filters) => (this.act() ? this.answer(session.unsubscribe(filters)) : never()),
      publish: (message) => (this.act() ? this.answer(session.publish(message)) : never()),
      end: () => (this.act() ? this.answer(session.end()) : never()),
      abort: () => {
        if (this.act()) session.abort();
      },
    };
  }

  /** An answer is heard by the living only, and hearing it may be the last thing. */
  async answer<T>(call: Promise<T>): Promise<T> {
    try {
      const value = await call;
      return this.act() ? value : await never();
    } catch (thrown) {
      if (this.act()) throw thrown;
      return never();
    }
  }
}

/** One process's clock: it counts from the boot of its machine, and dies with the process. */
export class MortalClock implements Clock {
  readonly #clock: Clock;
  readonly #mortal: Mortal;
  readonly #bootedAt: Monotonic;
  readonly #onThrow: (error: unknown) => void;
  readonly #timers = new Set<Disposable>();
  /** Whoever sleeps listens to a signal, which would keep all of a dead process in memory. */
  readonly #listening = new Map<() => void, AbortSignal>();

  constructor(
    clock: Clock,
    mortal: Mortal,
    more: { readonly bootedAt: Monotonic; readonly onThrow: (error: unknown) => void },
  ) {
    this.#clock = clock;
    this.#mortal = mortal;
    this.#bootedAt = more.bootedAt;
    this.#onThrow = more.onThrow;
  }

  /** No timer of it fires any more. */
  stop(): void {
    for (const timer of this.#timers) timer[Symbol.dispose]();
    this.#timers.clear();
    for (const [done, signal] of this.#listening) signal.removeEventListener("abort", done);
    this.#listening.clear();
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): Monotonic {
    return this.#clock.monotonic() - this.#bootedAt;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise<void>((resolve) => {
      if (!this.#mortal.alive) return;
      const done = (): void => {
        timer[Symbol.dispose]();
        signal?.removeEventListener("abort", done);
        this.#listening.delete(done);
        resolve();
      };
      const timer = this.after(ms, done);
      if (signal?.aborted === true) return done();
      signal?.addEventListener("abort", done, { once: true });
      if (signal !== undefined) this.#listening.set(done, signal);
    });
  }

  after(ms: number, run: () => void): Disposable {
    if (!this.#mortal.alive) return { [Symbol.dispose]: () => undefined };
    const dispose = (): void => {
      timer[Symbol.dispose]();
      this.#timers.delete(own);
    };
    const own: Disposable = { [Symbol.dispose]: dispose };
    const timer = this.#clock.after(ms, () => {
      this.#timers.delete(own);
      if (!this.#mortal.act()) return;
      try {
        run();
      } catch (thrown) {
        this.#onThrow(thrown);
      }
    });
    this.#timers.add(own);
    return own;
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
