// Performs: names processes beyond reuse of their numbers, so that what a dead one has left can be recognised.

import { readFileSync } from "node:fs";
import { bootId } from "../machine.ts";
import { parseProcStat } from "./proc-stat.ts";

/** Of this process: boot, number and start. */
export function ownIdentity(): string {
  return identityOf(process.pid) ?? `${bootId()}.${process.pid}.0`;
}

/** Whether the process of this identity still runs. */
export function isRunning(identity: string): boolean {
  const pid = Number(identity.split(".")[1]);
  return Number.isSafeInteger(pid) && identityOf(pid) === identity;
}

function identityOf(pid: number): string | undefined {
  try {
    const { startTicks } = parseProcStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
    return `${bootId()}.${pid}.${startTicks}`;
  } catch {
    // No such process.
    return undefined;
  }
}
