// Errors of calls to the runtime, and whether a failed call may have taken effect.

import { AgentError } from "../lib/errors.ts";
import { GrpcCode, codeName } from "../lib/grpc-code.ts";

/**
 * `refused`: the runtime answered with an error. `unknown`: no answer, so the call may have taken effect: list before
 * acting.
 */
export type Outcome = "refused" | "unknown";

interface CriErrorOptions {
  /** The rpc's name, e.g. `StopPodSandbox`. */
  readonly call: string;
  readonly code: number;
  /** The runtime's message, or the agent's if there is none. */
  readonly details: string;
  readonly cause?: unknown;
}

/** A failed CRI or containerd call. Its `reason` is the gRPC code in Kubernetes' spelling: `NotFound`, `DeadlineExceeded`, … */
export class CriError extends AgentError {
  readonly call: string;
  readonly code: number;
  readonly details: string;
  readonly outcome: Outcome;

  constructor(options: CriErrorOptions) {
    super({
      reason: codeName(options.code),
      message: `${options.call}: ${options.details}`,
      cause: options.cause,
    });
    this.name = "CriError";
    this.call = options.call;
    this.code = options.code;
    this.details = options.details;
    this.outcome = outcomeOf(options.code);
  }
}

// INTERNAL: the client library reports it for a stream that was reset midway. When containerd itself sends it, the
// additional list is harmless.
function outcomeOf(code: number): Outcome {
  switch (code) {
    case GrpcCode.CANCELED:
    case GrpcCode.DEADLINE_EXCEEDED:
    case GrpcCode.INTERNAL:
    case GrpcCode.UNAVAILABLE:
    case GrpcCode.DATA_LOSS:
      return "unknown";
  }
  return "refused";
}

/** Whether the runtime, or the client library, answered a call with this code. */
export function hasCode(thrown: unknown, code: number): boolean {
  return thrown instanceof CriError && thrown.code === code;
}

/** The container, sandbox or image does not exist. */
export function isNotFound(thrown: unknown): boolean {
  return hasCode(thrown, GrpcCode.NOT_FOUND);
}

/** undefined = the container, sandbox or image does not exist. */
export function ifFound<T>(call: Promise<T>): Promise<T | undefined> {
  return call.catch((thrown: unknown) => {
    if (isNotFound(thrown)) return undefined;
    throw thrown;
  });
}

/** The runtime does not implement this call. */
export function isUnimplemented(thrown: unknown): boolean {
  return hasCode(thrown, GrpcCode.UNIMPLEMENTED);
}

/** An earlier call without an answer has reserved the name (and attempt): list again, use the next attempt. */
export function isNameReserved(thrown: unknown): boolean {
  return thrown instanceof CriError && /failed to reserve \w+ name/.test(thrown.details);
}

/** The sandbox got no network because no network plugin is set up (yet). */
export function isNetworkNotReady(thrown: unknown): boolean {
  return (
    thrown instanceof CriError &&
    /cni plugin not initialized|network is not ready|no network config found/i.test(thrown.details)
  );
}
