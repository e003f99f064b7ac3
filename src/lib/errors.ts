// Errors that carry Kubernetes' reason and the time of the next try.

/** Kubernetes' reason where it has one (`ErrImagePull`, `CrashLoopBackOff`, …), ours otherwise. */
export type Reason = string;

interface AgentErrorOptions {
  readonly reason: Reason;
  /** A sentence: what failed, on what, and the remedy if there is one. */
  readonly message: string;
  readonly cause?: unknown;
  /** Clock.monotonic() before which trying again is pointless. */
  readonly retryAt?: number | undefined;
}

export class AgentError extends Error {
  readonly reason: Reason;
  readonly retryAt: number | undefined;

  constructor(options: AgentErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "AgentError";
    this.reason = options.reason;
    this.retryAt = options.retryAt;
  }
}

/** Kubernetes' reason when an object, a device or a volume that a container needs is missing or unusable. */
export const CONFIG_ERROR = "CreateContainerConfigError";

export function configError(message: string, cause?: unknown): AgentError {
  return new AgentError({ reason: CONFIG_ERROR, message, cause });
}

/** The same error under a reason of the caller's. */
export function withReason(reason: Reason, cause: unknown): AgentError {
  return new AgentError({ reason, message: messageOf(cause), cause });
}

/** The message of anything that was thrown; of an error in cleaning up after another one, both. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof SuppressedError)
    return `${messageOf(thrown.suppressed)}; and then: ${messageOf(thrown.error)}`;
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The reason of anything that was thrown; `fallback` when it carries none. */
export function reasonOf(thrown: unknown, fallback: Reason): Reason {
  return thrown instanceof AgentError ? thrown.reason : fallback;
}

/** The code of the system's, or a library's, error (`ENOENT`, …); "" when it carries none. */
export function errorCode(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
}

/** undefined when `run` throws an error with one of these codes. */
export function ignoring<T>(codes: readonly string[], run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (codes.includes(errorCode(error))) return undefined;
    throw error;
  }
}
