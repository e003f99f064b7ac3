// Timers of any length: the platform's own fire at once when they are asked for more than 2^31 − 1 ms.

const LONGEST_MS = 2 ** 31 - 1;

/** Calls `run` once after `ms`, in as many timers of `set` as that takes, unless disposed before. */
export function longTimer(
  set: (ms: number, run: () => void) => Disposable,
  ms: number,
  run: () => void,
): Disposable {
  const arm = (left: number): Disposable => {
    if (left <= LONGEST_MS) return set(left, run);
    return set(LONGEST_MS, () => {
      timer = arm(left - LONGEST_MS);
    });
  };
  let timer = arm(ms);
  return { [Symbol.dispose]: (): void => timer[Symbol.dispose]() };
}
