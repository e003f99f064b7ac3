// Performs: steps the system clock: the one change to the machine's time that the agent can make.

import { setRealTime } from "./libc.ts";

/** Wall ms. 0, or the errno of the failure. */
export function setSystemClock(wall: number): number {
  const seconds = Math.floor(wall / 1000);
  return setRealTime(BigInt(seconds), BigInt(Math.round((wall - seconds * 1000) * 1e6)));
}
