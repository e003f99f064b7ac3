// The error of a verb: one sentence with a remedy, and the exit code.

/** 1 = the verb failed, 2 = the usage or the input is wrong. */
export type FailureCode = 1 | 2;

export class CliError extends Error {
  readonly exitCode: FailureCode;

  constructor(exitCode: FailureCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "CliError";
    this.exitCode = exitCode;
  }
}

/** The `code` of a system error (`ENOENT`, …), if it carries one. */
export function systemCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !("code" in thrown)) return undefined;
  return typeof thrown.code === "string" ? thrown.code : undefined;
}
