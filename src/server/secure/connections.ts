// Performs: limits connections. One without a running request gives way to newer ones, so that those that only hold a
// place, or send slowly, keep out no user.

import type { Duplex } from "node:stream";
import type { Clock } from "../../lib/clock.ts";

export interface ConnectionLimits {
  /** Of all connections. */
  readonly most: number;
  /** Of those without a running request. */
  readonly mostWaiting: number;
  /** Time from the first byte of TCP to a whole request of a known user, in ms. */
  readonly patienceMs: number;
  /** The same for the next request. */
  readonly idleMs: number;
}

const PATIENCE_MS = 10_000;
const IDLE_MS = 120_000;
export const TLS_LIMITS: ConnectionLimits = {
  most: 384,
  mostWaiting: 128,
  patienceMs: PATIENCE_MS,
  idleMs: IDLE_MS,
};

export class Connections {
  readonly #clock: Clock;
  readonly #limits: ConnectionLimits;
  readonly #all = new Set<Duplex>();
  /** The oldest comes first. */
  readonly #waiting = new Map<Duplex, Disposable>();

  constructor(clock: Clock, limits: ConnectionLimits = TLS_LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Of a connection that has just come. false = there is no place for it, and it is closed. */
  add(socket: Duplex): boolean {
    const isFull = this.#all.size >= this.#limits.most;
    if (isFull && !this.#dropOldest()) {
      socket.destroy();
      return false;
    }
    this.#all.add(socket);
    socket.once("close", () => this.#forget(socket));
    socket.on("error", () => socket.destroy());
    this.#wait(socket, this.#limits.patienceMs);
    return true;
  }

  /** A request of a known user runs on it. */
  busy(socket: Duplex): void {
    this.#waiting.get(socket)?.[Symbol.dispose]();
    this.#waiting.delete(socket);
  }

  /** No request runs on it any longer. */
  idle(socket: Duplex): void {
    if (this.#all.has(socket)) this.#wait(socket, this.#limits.idleMs);
  }

  /** Closes all of them. */
  end(): void {
    for (const socket of this.#all) this.#drop(socket);
  }

  get size(): number {
    return this.#all.size;
  }

  #wait(socket: Duplex, ms: number): void {
    this.busy(socket);
    if (this.#waiting.size >= this.#limits.mostWaiting) this.#dropOldest();
    this.#waiting.set(
      socket,
      this.#clock.after(ms, () => this.#drop(socket)),
    );
  }

  #dropOldest(): boolean {
    const oldest = this.#waiting.keys().next();
    if (oldest.done === true) return false;
    this.#drop(oldest.value);
    return true;
  }

  #drop(socket: Duplex): void {
    this.#forget(socket);
    socket.destroy();
  }

  #forget(socket: Duplex): void {
    this.busy(socket);
    this.#all.delete(socket);
  }
}
