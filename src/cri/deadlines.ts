// How long each call may take before its outcome counts as unknown. kubelet: runtimeRequestTimeout and its exceptions

import type { CallOptions } from "./cri-client.ts";

const DEFAULT_MS = 120_000;
/** Version is the sign of life: a runtime that cannot answer it in time is stuck. */
export const VERSION_MS = 10_000;
/** A sandbox waits for its network and perhaps for its image. */
export const RUN_SANDBOX_MS = 2 * DEFAULT_MS;
const EXEC_SYNC_EXTRA_MS = 10_000;

/** The caller's deadline, else the call's own. */
export function within(options: CallOptions | undefined, defaultMs = DEFAULT_MS): CallOptions {
  return { signal: options?.signal, timeoutMs: options?.timeoutMs ?? defaultMs };
}

/** For calls in which the runtime itself waits `seconds`: two minutes more. */
export function withinMore(seconds: number, options: CallOptions | undefined): CallOptions {
  return within(options, seconds * 1000 + DEFAULT_MS);
}

/** The runtime ends the command at its time-out; 0 = it never does, nor do we. */
export function execSyncMs(timeoutSeconds: number): number | undefined {
  return timeoutSeconds === 0 ? undefined : timeoutSeconds * 1000 + EXEC_SYNC_EXTRA_MS;
}
