// Performs: the boot id, and the system's wall clock.

import { readFileSync } from "node:fs";
import { clockState, setRealTime } from "./libc.ts";

const TIME_ERROR = 5;
const STA_UNSYNC = 0x40;

/** A UUID that changes with every boot. */
export function bootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** Whether the kernel reports the wall clock as synchronised (by NTP, PTP, GPS). */
export function clockSynchronised(): boolean {
  const { state, status } = clockState();
  return state >= 0 && state !== TIME_ERROR && (status & STA_UNSYNC) === 0;
}

/** Steps the system clock to these wall ms; returns 0, or the errno of the failure. */
export function setSystemClock(wall: number): number {
  const seconds = Math.floor(wall / 1000);
  return setRealTime(BigInt(seconds), BigInt(Math.round((wall - seconds * 1000) * 1e6)));
}
