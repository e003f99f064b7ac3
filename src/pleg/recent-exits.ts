// Performs: remembers which containers were announced dead: an exit is final, a status that lags its event is not
// believed.

import type { ObservedContainer, ObservedPod } from "../api/pod/observed-pod.ts";
import type { TaskExit } from "../containerd/runtime-events.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";

const KEEP_MS = 30_000;
const KEEP_MANY = 2_000;
/** 128 + SIGKILL: any other end was not the kernel's. */
const KILLED_EXIT_CODE = 137;

interface Announced {
  readonly at: Monotonic;
  readonly exit: TaskExit | undefined;
}

export class RecentExits {
  readonly #clock: Clock;
  /** Insertion order is time order. */
  readonly #seen = new Map<string, Announced>();

  /** Containers in which the kernel killed for want of memory. */
  readonly #outOfMemory = new Set<string>();

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

  /** The runtime's record of the exit sometimes misses it. A container may outlive it for long: only the number is bounded. */
  addOutOfMemory(id: string): void {
    this.#outOfMemory.delete(id);
    this.#outOfMemory.add(id);
    const [oldest] = this.#outOfMemory.keys();
    if (this.#outOfMemory.size > KEEP_MANY && oldest !== undefined)
      this.#outOfMemory.delete(oldest);
  }

  /** The look with the announced exits in it: whoever decides by it need not wait for the runtime's own record. */
  correct<T extends Pick<ObservedPod, "containers">>(pod: T): T {
    const containers = pod.containers.map((container) => this.#corrected(container));
    const isChanged = containers.some((container, index) => container !== pod.containers[index]);
    return isChanged ? { ...pod, containers } : pod;
  }

  #corrected(container: ObservedContainer): ObservedContainer {
    const exit = this.#exitOf(container);
    const known = exit === undefined ? container : ended(container, exit);
    const isKilled = known.state === "Exited" && known.exitCode === KILLED_EXIT_CODE;
    if (!isKilled || known.reason === "OOMKilled") return known;
    return this.#outOfMemory.has(known.id) ? { ...known, reason: "OOMKilled" } : known;
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
