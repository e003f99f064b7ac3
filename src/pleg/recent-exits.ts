// Performs: remembers exit events of containers: an exit is final, so a status that lags behind its event is corrected.

import type { ObservedContainer, ObservedPod } from "../api/pod/observed-pod.ts";
import type { TaskExit } from "../containerd/runtime-events.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";

const KEEP_MS = 30_000;
const KEEP_MANY = 2_000;
/** 128 + SIGKILL: the kernel's OOM killer causes no other exit code. */
export const KILLED_EXIT_CODE = 137;

interface Announced {
  readonly at: Monotonic;
  readonly exit: TaskExit | undefined;
}

/** The last ids, as many as are kept. */
export class RecentIds {
  readonly #ids = new Set<string>();

  add(id: string): void {
    this.#ids.delete(id);
    this.#ids.add(id);
    const [oldest] = this.#ids.keys();
    if (this.#ids.size > KEEP_MANY && oldest !== undefined) this.#ids.delete(oldest);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** True if it was there. */
  delete(id: string): boolean {
    return this.#ids.delete(id);
  }
}

export class RecentExits {
  readonly #clock: Clock;
  /** Insertion order is time order. */
  readonly #seen = new Map<string, Announced>();

  /** Containers with an OOM event. */
  readonly #outOfMemory = new RecentIds();

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

  /** The runtime's record of the exit sometimes lacks the OOM. A container may survive it for long, so only the count is bounded. */
  addOutOfMemory(id: string): void {
    this.#outOfMemory.add(id);
  }

  isOutOfMemory(id: string): boolean {
    return this.#outOfMemory.has(id);
  }

  /** Whether an exit of it was announced not long ago. */
  has(id: string): boolean {
    return this.#get(id) !== undefined;
  }

  /** The observation with the announced exits applied, before the runtime records them. */
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

  /** True while the runtime has not recorded an announced exit yet. */
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
