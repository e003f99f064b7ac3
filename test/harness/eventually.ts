// Polls until something is true, and tells well what was seen when it never became so.

import { inspect } from "node:util";

import { PATIENCE } from "./patience.ts";

export interface EventuallyOptions {
  /** Bound in ms, default 30,000: what a busy machine needs, not what is expected. */
  readonly timeout?: number;
  /** Time between the first looks in ms; later a tenth of the time that has passed, 250 at most. */
  readonly interval?: number;
  /** Added to the failure, e.g. the tail of a log. */
  readonly explain?: () => string;
}

/** A look may start a process: many of them would take the cores from what they wait for. */
const MAX_INTERVAL = 250;

/** Thrown by a look that will never succeed: ends the waiting at once. */
export class Hopeless extends Error {}

/**
 * The first value of `look` that is neither undefined nor false. A look that throws counts as "not yet";
 * at the end the last error or value is in the message.
 */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  options: EventuallyOptions = {},
): Promise<T> {
  const { interval = 25 } = options;
  const timeout = (options.timeout ?? 30_000) * PATIENCE;
  const start = performance.now();
  let last = "nothing was seen";
  for (;;) {
    try {
      const value = await look();
      if (value !== undefined && value !== false) return value;
      last = `the last look gave ${inspect(value)}`;
    } catch (thrown) {
      if (thrown instanceof Hopeless) throw thrown;
      last = `the last look failed: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    }
    const passed = performance.now() - start;
    if (passed > timeout) break;
    await Bun.sleep(Math.max(interval, Math.min(passed / 10, MAX_INTERVAL)));
  }
  const more = options.explain === undefined ? "" : `\n${options.explain()}`;
  throw new Error(`after ${timeout} ms still not: ${what}; ${last}${more}`);
}

/** Throws as soon as `look` gives false within `duration` ms: something must stay as it is. */
export async function always(
  what: string,
  duration: number,
  look: () => boolean | Promise<boolean>,
): Promise<void> {
  const start = performance.now();
  while (performance.now() - start < duration) {
    if (!(await look()))
      throw new Error(`after ${Math.round(performance.now() - start)} ms no longer: ${what}`);
    await Bun.sleep(25);
  }
}
