// Performs: this boot of the machine: its id, the time since it began, and whether the wall clock can be believed.

import { readFileSync } from "node:fs";
import type { Monotonic } from "../lib/clock.ts";
import { bootTimeMs, clockState } from "./libc.ts";

const TIME_ERROR = 5;
const STA_UNSYNC = 0x40;

/** Milliseconds of CLOCK_BOOTTIME, which counts suspend: what `systemClock` shall go by. */
export function sinceBoot(): Monotonic {
  return bootTimeMs() ?? uptimeMs(readFileSync("/proc/uptime", "utf8"));
}

function uptimeMs(text: string): number {
  return Number.parseFloat(text) * 1000;
}

/** A UUID that changes with every boot. */
export function bootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** Whether the kernel says that something keeps the wall clock in step (NTP, PTP, GPS). */
export function clockSynchronised(): boolean {
  const { state, status } = clockState();
  return state >= 0 && state !== TIME_ERROR && (status & STA_UNSYNC) === 0;
}
