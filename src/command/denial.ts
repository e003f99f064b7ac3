// Why a command is not carried out, as its sender learns it.

import type { ResponsePhase } from "../protocol/status-codes.ts";
import { commandError, type CommandError } from "./response.ts";

export interface Denial {
  readonly phase: Extract<ResponsePhase, "failed" | "expired" | "denied" | "duplicate">;
  readonly code: number;
  readonly error: CommandError;
}

const DENIALS = {
  400: { phase: "failed", category: "Invalid" },
  401: { phase: "denied", category: "Unauthorized" },
  403: { phase: "denied", category: "Forbidden" },
  408: { phase: "expired", category: "Expired" },
  429: { phase: "denied", category: "TooManyRequests" },
  501: { phase: "denied", category: "NotImplemented" },
} as const;

/** `element`: the field that is the reason. */
export function denied(code: keyof typeof DENIALS, message: string, element?: string): Denial {
  const { phase, category } = DENIALS[code];
  return { phase, code, error: commandError(category, message, element) };
}
