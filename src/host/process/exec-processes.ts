// Performs: finds processes of containers in /proc, and hangs up a session as a terminal that is closed does.

import { readdirSync, readFileSync } from "node:fs";
import { ignoring } from "../../lib/errors.ts";
import { parseProcStat, type ProcStat } from "./proc-stat.ts";

/** A process that leads a session, as each command does that a runtime runs in a container. */
export interface SessionLeader {
  readonly pid: number;
  /** In ticks since boot: with `pid`, unique. */
  readonly startTicks: string;
  readonly command: readonly string[];
}

/** Never throws. */
export interface ExecProcesses {
  pids(): readonly number[];
  /** undefined = it leads no session, is not in that container's cgroup, or has ended. */
  leader(pid: number, containerId: string): SessionLeader | undefined;
  /** SIGHUP to every process of its session, if it still runs. */
  hangUp(leader: SessionLeader): void;
}

const GONE = ["ENOENT", "ESRCH", "EACCES", "EPERM"];

export const realExecProcesses: ExecProcesses = {
  pids,
  leader(pid, containerId) {
    const stat = statOf(pid);
    if (stat?.session !== pid || textOf(pid, "cgroup")?.includes(containerId) !== true)
      return undefined;
    const command = textOf(pid, "cmdline")?.split("\0").slice(0, -1);
    return command === undefined ? undefined : { pid, startTicks: stat.startTicks, command };
  },
  hangUp({ pid, startTicks }) {
    if (statOf(pid)?.startTicks !== startTicks) return;
    for (const one of pids().filter((other) => statOf(other)?.session === pid)) {
      send(one, "SIGHUP");
      // A stopped process takes the signal only when it continues.
      send(one, "SIGCONT");
    }
  },
};

function pids(): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0);
}

function statOf(pid: number): ProcStat | undefined {
  const text = textOf(pid, "stat");
  return text === undefined ? undefined : parseProcStat(text);
}

function textOf(pid: number, file: string): string | undefined {
  return ignoring(GONE, () => readFileSync(`/proc/${pid}/${file}`, "utf8"));
}

function send(pid: number, signal: NodeJS.Signals): void {
  ignoring(GONE, () => process.kill(pid, signal));
}
