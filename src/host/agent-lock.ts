// Performs: `stateDir/agent.lock`: one agent per stateDir, by a kernel lock that ends with the process.

import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AgentError, messageOf } from "../lib/errors.ts";
import { ERRNO, lockExclusive } from "./libc.ts";

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;

/**
 * Holds `stateDir/agent.lock` until disposed or the process ends.
 * Throws AgentError `StateDirInUse` (names the other process) or `StateDirUnusable`.
 */
export function lockStateDir(stateDir: string): Disposable {
  const path = join(stateDir, "agent.lock");
  const fd = openLock(path);
  const errno = lockExclusive(fd);
  if (errno !== 0) {
    closeSync(fd);
    throw errno === ERRNO.EAGAIN ? inUse(stateDir, path) : unusable(path, `flock: errno ${errno}`);
  }
  // Only for the error message of a second agent.
  ftruncateSync(fd, 0);
  writeSync(fd, `${process.pid}\n`, 0);
  return { [Symbol.dispose]: () => closeSync(fd) };
}

function openLock(path: string): number {
  try {
    return openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  } catch (cause) {
    throw unusable(path, messageOf(cause), cause);
  }
}

function inUse(stateDir: string, path: string): AgentError {
  const pid = readFileSync(path, "utf8").trim();
  const who = pid === "" ? "another agent" : `another agent (pid ${pid})`;
  const message = `${who} already uses stateDir ${stateDir}: stop it, or give this one another stateDir`;
  return new AgentError({ reason: "StateDirInUse", message });
}

function unusable(path: string, why: string, cause?: unknown): AgentError {
  const message = `cannot lock ${path}: ${why}`;
  return new AgentError({ reason: "StateDirUnusable", message, cause });
}
