// Performs: names processes beyond reuse of their numbers, so that what a dead one has left can be recognised.

import { readFileSync } from "node:fs";
import { bootId } from "./machine.ts";

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
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return `${bootId()}.${pid}.${fields[19] ?? ""}`;
  } catch {
    // No such process.
    return undefined;
  }
}
