// Performs: makes this process one that waits for all others: for the processor, and for the disk where its scheduler knows
// priorities.

import { setPriority } from "node:os";
import { idleDiskPriority } from "./libc.ts";

const NICE = 19;

/** Before the first thread reads. Never throws: without it the work is only less polite. */
export function becomeLowPriority(): void {
  try {
    setPriority(NICE);
  } catch {
    // A process that may not be nicer.
  }
  idleDiskPriority();
}
