// Time as a parameter. Nothing else in src/ may read a clock or set a timer (a test holds this).

/** Milliseconds of CLOCK_BOOTTIME: never steps, counts suspend, starts anew with each boot. */
export type Monotonic = number;

export interface Clock {
  /** Wall-clock milliseconds since 1970. It jumps and may be wrong: for display only, never for decisions. */
  now(): number;
  /** Milliseconds since boot; the only time that decisions may compare. */
  monotonic(): Monotonic;
  /** Resolves after `ms`, or at once when `signal` aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`, unless disposed before. */
  after(ms: number, run: () => void): Disposable;
}

/** An abort signal that also fires after `ms`; dispose it to release the timer. */
export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
}

/** Joins a deadline of `ms` and an outer signal; the abort reason is that of the one that fired. */
export function deadline(clock: Pick<Clock, "after">, ms: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  const timer = clock.after(ms, () => controller.abort(new Error(`deadline of ${ms} ms passed`)));
  const follow = (): void => controller.abort(outer?.reason);
  if (outer?.aborted === true) follow();
  else outer?.addEventListener("abort", follow, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose](): void {
      timer[Symbol.dispose]();
      outer?.removeEventListener("abort", follow);
    },
  };
}

/** undefined = there is none. */
export function earliest(times: readonly (Monotonic | undefined)[]): Monotonic | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** RFC 3339 in UTC with whole seconds, as Kubernetes prints times. */
export function rfc3339(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/\.\d{3}Z$/, "Z");
}

/** Resolves when `signal` aborts; never rejects. */
export function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise<undefined>((resolve) => {
    if (signal.aborted) return resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

/** The moment before which the wall clock is certainly wrong, in wall milliseconds; kept in memory only. */
export class ClockFloor {
  #at: number;

  constructor(at: number) {
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  /** Raises the floor to `at`; true = it was lower before. */
  raise(at: number): boolean {
    if (at <= this.#at) return false;
    this.#at = at;
    return true;
  }
}
