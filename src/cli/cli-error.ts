// The error of a verb: one sentence with a remedy, and the exit code.

import type { FieldError } from "../lib/result.ts";
import { errorLine } from "./terminal-text.ts";

export const EXIT_CODES = {
  0: "The verb succeeded.",
  1: "The verb failed: what it asked for is not there, not reachable or refused.",
  2: "The usage or the input is wrong, such as an invalid manifest.",
} as const;
export type FailureCode = Exclude<keyof typeof EXIT_CODES, 0>;

export class CliError extends Error {
  readonly exitCode: FailureCode;

  constructor(exitCode: FailureCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "CliError";
    this.exitCode = exitCode;
  }
}

/** What is wrong with a file, or with something else that a person wrote: a line for each error. */
export function invalidInput(file: string, errors: readonly FieldError[]): CliError {
  return new CliError(2, errors.map((error) => errorLine({ file, ...error })).join("\n"));
}

/** The `code` of a system error (`ENOENT`, …), if it carries one. */
export function systemCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !("code" in thrown)) return undefined;
  return typeof thrown.code === "string" ? thrown.code : undefined;
}
