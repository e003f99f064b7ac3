// Remembers which containers were announced dead: an exit is final, a status that lags its event is not believed.

import type { ObservedContainer, ObservedPod } from "../api/observed-pod.ts";
import type { TaskExit } from "../containerd/runtime-events.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";

const KEEP_MS = 30_000;
const KEEP_MANY = 2_000;

interface Announced {
  readonly at: Monotonic;
  readonly exit: TaskExit | undefined;
}

export class RecentExits {
  readonly #clock: Clock;
  /** Insertion order is time order. */
  readonly #seen = new Map<string, Announced>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(id: string, exit: TaskExit | undefined): void {
    const now = this.#clock.monotonic();
    this.#seen.delete(id);
    this.#seen.set(id, { at: now, exit });
    for (const [old, { at }] of this.#seen) {
      if (now - at <= KEEP_MS && this.#seen.size <= KEEP_MANY) break;
      this.#seen.delete(old);
    }
  }

  /** The look with the announced exits in it: whoever decides by it need not wait for the runtime's own record. */
  correct<T extends Pick<ObservedPod, "containers">>(pod: T): T {
    if (!pod.containers.some((container) => this.#exitOf(container) !== undefined)) return pod;
    const containers = pod.containers.map((container) => {
      const exit = this.#exitOf(container);
      return exit === undefined ? container : ended(container, exit);
    });
    return { ...pod, containers };
  }

  /** True while the runtime's own record of an announced exit has yet to follow. */
  awaits(pod: ObservedPod | undefined): boolean {
    if (pod === undefined) return false;
    return (
      pod.containers.some(
        ({ id, state, presumed }) =>
          presumed === true || (state === "Running" && this.#get(id) !== undefined),
      ) || pod.sandboxes.some(({ id, state }) => state === "Ready" && this.#get(id) !== undefined)
    );
  }

  #exitOf({ id, state }: ObservedContainer): TaskExit | undefined {
    return state === "Running" ? this.#get(id)?.exit : undefined;
  }

  #get(id: string): Announced | undefined {
    const announced = this.#seen.get(id);
    if (announced === undefined || this.#clock.monotonic() - announced.at > KEEP_MS)
      return undefined;
    return announced;
  }
}

function ended(container: ObservedContainer, { code, at }: TaskExit): ObservedContainer {
  return {
    ...container,
    state: "Exited",
    exitCode: code,
    reason: code === 0 ? "Completed" : "Error",
    finishedAt: at,
    presumed: true,
  };
}
