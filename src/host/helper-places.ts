// Performs: hands out the places in which helper processes run. One that the kernel holds keeps its place until it has ended.

import { AgentError } from "../lib/errors.ts";

export interface HelperPlacesOptions {
  readonly places: number;
  /** One server that is gone must not have all. */
  readonly perMount: number;
}

/** To be released when its process has ended. */
export interface HelperPlace {
  /** The process was killed, and the kernel does not let it end. */
  hangs(): void;
  release(): void;
}

interface Waiting {
  readonly mountPoint: string;
  readonly begin: (place: HelperPlace) => void;
  readonly refuse: (error: AgentError) => void;
}

/** First come first served among those whose mount has a place left. */
export class HelperPlaces {
  readonly #options: HelperPlacesOptions;
  readonly #held: { readonly mountPoint: string; hangs: boolean }[] = [];
  readonly #waiting = new Set<Waiting>();

  constructor(options: HelperPlacesOptions) {
    this.#options = options;
  }

  /**
   * Rejects with AgentError `NoAnswer` when only processes that hang hold the places it waits for, and with the reason of
   * `signal` when that aborts.
   */
  async take(mountPoint: string, signal: AbortSignal): Promise<HelperPlace> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<HelperPlace>();
    const waiting: Waiting = { mountPoint, begin: resolve, refuse: reject };
    const leave = (): void => {
      if (this.#waiting.delete(waiting)) reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#waiting.add(waiting);
    this.#next();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #next(): void {
    for (const waiting of this.#waiting) {
      const hung = this.#hungBefore(waiting.mountPoint);
      if (hung === undefined && !this.#isFree(waiting.mountPoint)) continue;
      this.#waiting.delete(waiting);
      if (hung === undefined) waiting.begin(this.#occupy(waiting.mountPoint));
      else waiting.refuse(noAnswer(`${hung} earlier calls still hang in the kernel`));
    }
  }

  /** How many calls hang where a place would have to become free; undefined = there is one, or one will be free. */
  #hungBefore(mountPoint: string): number | undefined {
    const { places, perMount } = this.#options;
    const hung = this.#held.filter(({ hangs }) => hangs);
    if (hung.length >= places) return hung.length;
    const there = hung.filter((one) => one.mountPoint === mountPoint).length;
    return there >= perMount ? there : undefined;
  }

  #isFree(mountPoint: string): boolean {
    const { places, perMount } = this.#options;
    const there = this.#held.filter((one) => one.mountPoint === mountPoint).length;
    return this.#held.length < places && there < perMount;
  }

  #occupy(mountPoint: string): HelperPlace {
    const held = { mountPoint, hangs: false };
    this.#held.push(held);
    return {
      hangs: () => {
        held.hangs = true;
        this.#next();
      },
      release: () => {
        const at = this.#held.indexOf(held);
        if (at >= 0) this.#held.splice(at, 1);
        this.#next();
      },
    };
  }
}

export function noAnswer(message: string): AgentError {
  return new AgentError({ reason: "NoAnswer", message });
}
