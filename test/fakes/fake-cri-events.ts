// The event stream of the fake runtime: every subscriber sees every event from its subscription on.

import type {
  RuntimeEvent,
  RuntimeEvents,
  TaskEvent,
} from "../../src/containerd/runtime-events.ts";

interface Subscriber {
  readonly queue: RuntimeEvent[];
  wake: () => void;
  ended: { readonly error: Error | undefined } | undefined;
}

export class FakeEvents implements RuntimeEvents {
  readonly #subscribers = new Set<Subscriber>();
  readonly #admit: () => void;

  /** `admit` throws when nobody may subscribe just now. */
  constructor(admit: () => void = () => undefined) {
    this.#admit = admit;
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  /** The stream stays open, but nothing comes through it. */
  muted = false;

  /** Containers and sandboxes whose exit did not come through. */
  readonly untold = new Set<string>();

  emit(event: TaskEvent): void {
    if (this.muted) {
      if (event.type === "Exited") this.untold.add(event.id);
      return;
    }
    for (const subscriber of this.#subscribers) {
      subscriber.queue.push(event);
      subscriber.wake();
    }
  }

  /** Ends all streams, quietly or with an error. */
  end(error?: Error): void {
    for (const subscriber of this.#subscribers) {
      subscriber.ended = { error };
      subscriber.wake();
    }
  }

  async *subscribe(signal: AbortSignal): AsyncGenerator<RuntimeEvent, void, undefined> {
    this.#admit();
    const subscriber: Subscriber = {
      queue: [{ type: "Subscribed" }],
      wake: () => undefined,
      ended: undefined,
    };
    this.#subscribers.add(subscriber);
    const abort = (): void => subscriber.wake();
    signal.addEventListener("abort", abort);
    try {
      while (!signal.aborted) {
        const event = subscriber.queue.shift();
        if (event !== undefined) {
          yield event;
          continue;
        }
        if (subscriber.ended?.error !== undefined) throw subscriber.ended.error;
        if (subscriber.ended !== undefined) return;
        await new Promise<void>((resolve) => (subscriber.wake = resolve));
      }
    } finally {
      signal.removeEventListener("abort", abort);
      this.#subscribers.delete(subscriber);
    }
  }
}
