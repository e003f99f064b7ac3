// Performs: how rooms send each other values: a queue, or a box that keeps only the newest.

/** Unbounded first-in first-out queue with one reader. */
export class Mailbox<T> {
  readonly #items: T[] = [];
  #wake: (() => void) | undefined;

  send(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  /** The next item; undefined once `signal` has aborted. */
  async receive(signal: AbortSignal): Promise<T | undefined> {
    while (this.#items.length === 0) {
      if (signal.aborted) return undefined;
      await waitForWake((wake) => (this.#wake = wake), signal);
      this.#wake = undefined;
    }
    return signal.aborted ? undefined : this.#items.shift();
  }

  /** Everything that has arrived so far, without waiting. */
  drain(): T[] {
    return this.#items.splice(0);
  }
}

/** Keeps the newest value only; one reader. */
export class LatestBox<T> {
  #value: { readonly item: T } | undefined;
  #wake: (() => void) | undefined;

  put(item: T): void {
    this.#value = { item };
    this.#wake?.();
  }

  /** The newest value put since the last take; undefined once `signal` has aborted. */
  async take(signal: AbortSignal): Promise<T | undefined> {
    while (this.#value === undefined) {
      if (signal.aborted) return undefined;
      await waitForWake((wake) => (this.#wake = wake), signal);
      this.#wake = undefined;
    }
    const { item } = this.#value;
    this.#value = undefined;
    return signal.aborted ? undefined : item;
  }
}

/** A value with one writer and any number of readers; exists before either of them. */
export class Latest<T> {
  #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  readonly get = (): T => this.#value;

  readonly set = (value: T): void => {
    this.#value = value;
  };
}

function waitForWake(register: (wake: () => void) => void, signal: AbortSignal): Promise<void> {
  return new Promise<void>((resolve) => {
    const wake = (): void => {
      signal.removeEventListener("abort", wake);
      resolve();
    };
    signal.addEventListener("abort", wake, { once: true });
    register(wake);
  });
}
