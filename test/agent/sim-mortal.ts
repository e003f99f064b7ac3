// The last moments of a process: everything it does to the world is counted, and at a given count it is dead.

import type { CriClient } from "../../src/cri/cri-client.ts";
import type { Files } from "../../src/host/files.ts";
import type { Removals } from "../../src/store/removals.ts";

/** What a dead process's synchronous calls end with: code after them is code that no longer exists. */
export class Dead extends Error {
  constructor() {
    super("this process is dead");
  }
}

export class Mortal {
  readonly #onDeath: () => void;
  #left = Number.POSITIVE_INFINITY;
  #alive = true;

  constructor(onDeath: () => void) {
    this.#onDeath = onDeath;
  }

  get alive(): boolean {
    return this.#alive;
  }

  get isDoomed(): boolean {
    return !this.#alive || this.#left !== Number.POSITIVE_INFINITY;
  }

  /** Dies before its n-th act from now; 0 = now. */
  doom(acts: number): void {
    this.#left = Math.min(this.#left, acts);
    if (acts <= 0) this.die();
  }

  die(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#onDeath();
  }

  /** Before every act; false = dead, the act does not happen. */
  act(): boolean {
    this.#left -= 1;
    if (this.#alive && this.#left <= 0) this.die();
    return this.#alive;
  }

  cri(cri: CriClient): CriClient {
    return new Proxy(cri, {
      get: (target, name): unknown => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown =>
          this.act() ? Reflect.apply(member, target, args) : new Promise(() => undefined);
      },
    });
  }

  /** `before` sees the name of every call and may throw in its place. */
  files(files: Files, before: (method: string) => void): Files {
    return this.#synchronous(files, before);
  }

  removals(removals: Removals): Removals {
    return this.#synchronous(removals);
  }

  #synchronous<T extends object>(target: T, before?: (method: string) => void): T {
    return new Proxy(target, {
      get: (_, name): unknown => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          if (!this.act()) throw new Dead();
          before?.(String(name));
          return Reflect.apply(member, target, args);
        };
      },
    });
  }
}
