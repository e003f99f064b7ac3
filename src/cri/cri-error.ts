// What went wrong with a call to the runtime, and whether it may have happened all the same (DESIGN: law 15).

import { AgentError } from "../lib/errors.ts";

/** The status codes of gRPC. */
export const GrpcCode = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/**
 * `refused`: the runtime answered "no". `unknown`: no answer, so the call may have happened:
 * list before acting.
 */
export type Outcome = "refused" | "unknown";

export interface CriErrorOptions {
  /** The rpc's name, e.g. `StopPodSandbox`. */
  readonly call: string;
  readonly code: number;
  /** The runtime's words, or ours where it said nothing. */
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

// INTERNAL is what the client library reports for a stream that was reset under way; a containerd
// that says it itself loses nothing by one more list.
function outcomeOf(code: number): Outcome {
  switch (code) {
    case GrpcCode.CANCELLED:
    case GrpcCode.DEADLINE_EXCEEDED:
    case GrpcCode.INTERNAL:
    case GrpcCode.UNAVAILABLE:
    case GrpcCode.DATA_LOSS:
      return "unknown";
  }
  return "refused";
}

function codeName(code: number): string {
  const name = Object.entries(GrpcCode).find(([, value]) => value === code)?.[0] ?? "UNKNOWN";
  return name.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function hasCode(thrown: unknown, code: number): boolean {
  return thrown instanceof CriError && thrown.code === code;
}

/** The container, sandbox or image is not there. */
export function isNotFound(thrown: unknown): boolean {
  return hasCode(thrown, GrpcCode.NOT_FOUND);
}

/** The runtime does not have this call. */
export function isUnimplemented(thrown: unknown): boolean {
  return hasCode(thrown, GrpcCode.UNIMPLEMENTED);
}

/** An earlier call whose answer was lost holds the name (and attempt): re-list, take the next attempt. */
export function isNameReserved(thrown: unknown): boolean {
  return thrown instanceof CriError && /failed to reserve \w+ name/.test(thrown.details);
}

/** A sandbox could not get its network because no network plugin is set up (yet). */
export function isNetworkNotReady(thrown: unknown): boolean {
  return (
    thrown instanceof CriError &&
    /cni plugin not initialized|network is not ready|no network config found/i.test(thrown.details)
  );
}

/** The call may have happened: list before acting. Anything that is no CriError is not a call's outcome. */
export function isOutcomeUnknown(thrown: unknown): boolean {
  return thrown instanceof CriError && thrown.outcome === "unknown";
}
