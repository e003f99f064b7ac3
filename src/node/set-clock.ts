// Performs: `setClock`: steps a system clock that is behind forward at the start, and stores times at which it was synchronised.

import type { Edges } from "../edges.ts";
import { rfc3339, ClockFloor } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { ClockMark } from "../store/meta.ts";

export interface ClockAtStartOptions extends Pick<Edges, "clock" | "log"> {
  readonly mark: ClockMark;
  /** `setClock` of the configuration. */
  readonly mayStep: boolean;
  /** Wall-clock milliseconds of the build; 0 = unknown. */
  readonly built: number;
  readonly synchronised: () => boolean;
  /** Steps the system clock to these wall-clock milliseconds; returns 0 or an errno. */
  readonly set: (wall: number) => number;
}

/** To be called before the first connection: no certificate is valid in 1970. Returns the earliest possible time. */
export function settleClock(options: ClockAtStartOptions): ClockFloor {
  const { clock, log, mark, mayStep, built, synchronised, set } = options;
  const now = clock.now();
  const floor = Math.max(built, mark.marked ?? 0);
  // Never backwards, and never while something else keeps it in step.
  if (mayStep && !synchronised() && now < floor) {
    const errno = set(floor);
    const times = { from: rfc3339(now), to: rfc3339(floor) };
    if (errno === 0) log.warn("the system clock was behind and is stepped forward", times);
    else log.error("cannot step the system clock forward", { ...times, errno });
  }
  mark.follow((marked) => {
    const time = clock.now();
    return markIsDue(time, marked) && synchronised() ? time : undefined;
  });
  return new ClockFloor(floor);
}

/** To be called at a clean stop. Never throws. */
export function markClock({ clock, log, mark, synchronised }: ClockAtStartOptions): void {
  if (!synchronised()) return;
  try {
    mark.write(clock.now());
  } catch (error) {
    log.warn("cannot store the time for the next start", { error: messageOf(error) });
  }
}

const MARK_APART_MS = 3_600_000;

/**
 * Whether the time should be stored with another write: at most hourly, because each changes a page of the database. A mark
 * in the future was wrong.
 */
export function markIsDue(now: number, marked: number | undefined): boolean {
  return marked === undefined || now < marked || now >= marked + MARK_APART_MS;
}
