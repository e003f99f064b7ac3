// Performs: asks systemd for something; only its exit code counts.

import { existsSync } from "node:fs";

const LIMIT_MS = 300_000;

/** sd_booted(3) */
export function hasSystemd(): boolean {
  return existsSync("/run/systemd/system");
}

/** Whether the command succeeded; its errors go to standard error. */
export async function systemctl(words: readonly string[]): Promise<boolean> {
  try {
    const child = Bun.spawn(["systemctl", ...words], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "inherit",
      timeout: LIMIT_MS,
    });
    return (await child.exited) === 0;
  } catch {
    return false;
  }
}
