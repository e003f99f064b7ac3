// The exit codes of `agent`, and the errors that lead to them: one sentence with a remedy.

import type { FieldError } from "../lib/result.ts";
import { errorLine } from "./terminal-text.ts";

export const EXIT_CODES = {
  0: "The verb succeeded.",
  1: "The verb failed: what it asked for is not there, not reachable or refused.",
  2: "The usage or the input is wrong, such as an invalid manifest.",
} as const;

/** The verb failed. */
export class CliError extends Error {
  readonly exitCode: Exclude<keyof typeof EXIT_CODES, 0> = 1;

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "CliError";
  }
}

/** What a person wrote is wrong. */
export class UsageError extends CliError {
  override readonly exitCode = 2;
}

/** What is wrong with a file, or with something else that a person wrote: a line for each error. */
export function invalidInput(file: string, errors: readonly FieldError[]): UsageError {
  return new UsageError(errors.map((error) => errorLine({ file, ...error })).join("\n"));
}
