// Processes by pid *and* start time, so that a recycled pid is never signalled.

import { readdirSync, readFileSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot at which it started (/proc/PID/stat, field 22). */
  readonly started: string;
}

/** Undefined when there is no such process, or only a zombie. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const started = fields[19];
  return fields[0] === "Z" || started === undefined ? undefined : { pid, started };
}

export function isAlive(process: ProcessIdentity): boolean {
  return identify(process.pid)?.started === process.started;
}

/** Sends the signal only to the very process that was identified. */
export function signal(target: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isAlive(target)) return;
  try {
    process.kill(target.pid, name);
  } catch {
    // It ended between the look and the signal.
  }
}

/** Blocks until all have ended; false when some still live after `ms`. */
export function waitForEnd(targets: readonly ProcessIdentity[], ms: number): boolean {
  const end = performance.now() + ms;
  while (targets.some(isAlive)) {
    if (performance.now() > end) return false;
    Bun.sleepSync(5);
  }
  return true;
}

/** TERM, then KILL after `graceMs`; blocks until it is over. */
export function endProcesses(targets: readonly ProcessIdentity[], graceMs: number): void {
  for (const target of targets) signal(target, "SIGTERM");
  if (waitForEnd(targets, graceMs)) return;
  for (const target of targets) signal(target, "SIGKILL");
  waitForEnd(targets, 5_000);
}

/** Command lines of all processes, split into arguments. */
export function commandLines(): readonly {
  readonly pid: number;
  readonly args: readonly string[];
}[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({
      pid: Number(name),
      args: (readText(`/proc/${name}/cmdline`) ?? "").split("\0"),
    }));
}

export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined; // It is gone, which for files of /proc is an ordinary answer.
  }
}
