// What a suite had of the machine: seconds, and how much of them the cores were busy or given to somebody else.

import { readText } from "./processes.ts";

/** Of all cores since boot, in clock ticks, by /proc/stat (proc(5)). */
interface Times {
  readonly at: number;
  readonly all: number;
  readonly idle: number;
  /** What the host gave to another guest. */
  readonly stolen: number;
}

export function timesNow(): Times {
  const line = readText("/proc/stat")?.split("\n")[0] ?? "";
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
  const [, , , idle = 0, waiting = 0, , , stolen = 0] = ticks;
  const all = ticks.reduce((sum, one) => sum + one, 0);
  return { at: performance.now(), all, idle: idle + waiting, stolen };
}

/** "84 s, cores 92 % busy, 1 % stolen". */
export function spentSince(before: Times): string {
  const now = timesNow();
  const all = Math.max(1, now.all - before.all);
  const share = (ticks: number): number => Math.round((100 * ticks) / all);
  const seconds = Math.round((now.at - before.at) / 1_000);
  return `${seconds} s, cores ${100 - share(now.idle - before.idle)} % busy, ${share(now.stolen - before.stolen)} % stolen`;
}
