// Deadlines of CRI calls, after which their outcome is unknown. kubelet: runtimeRequestTimeout and its exceptions

import type { CallOptions } from "./cri-client.ts";

const DEFAULT_MS = 120_000;
/** Version is the health check: a runtime that does not answer it in time is stuck. */
export const VERSION_MS = 10_000;
/** Includes setting up the network and perhaps pulling the sandbox image. */
export const RUN_SANDBOX_MS = 2 * DEFAULT_MS;
const EXEC_SYNC_EXTRA_MS = 10_000;

/** The caller's deadline, or the call's default. */
export function within(options: CallOptions | undefined, defaultMs = DEFAULT_MS): CallOptions {
  return { signal: options?.signal, timeoutMs: options?.timeoutMs ?? defaultMs };
}

/** For calls in which the runtime itself waits `seconds`: two minutes more. */
export function withinMore(seconds: number, options: CallOptions | undefined): CallOptions {
  return within(options, seconds * 1000 + DEFAULT_MS);
}

/** After the runtime's own timeout of the command; 0 = neither has one. */
export function execSyncMs(timeoutSeconds: number): number | undefined {
  return timeoutSeconds === 0 ? undefined : timeoutSeconds * 1000 + EXEC_SYNC_EXTRA_MS;
}
