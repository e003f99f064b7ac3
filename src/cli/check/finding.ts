// What a check of `agent check` finds: how bad it is, what is the case, and what helps.

export type Level = "ok" | "warning" | "error";

export interface Finding {
  readonly level: Level;
  /** What is the case, with the facts. */
  readonly message: string;
  /** What helps: a command, or a line and where it belongs. Absent = nothing has to be done. */
  readonly remedy?: string;
}

/** With the name of its check. */
export interface CheckResult extends Finding {
  readonly check: string;
}

export function fine(message: string): Finding {
  return { level: "ok", message };
}

export function doubtful(message: string, remedy: string): Finding {
  return { level: "warning", message, remedy };
}

export function broken(message: string, remedy: string): Finding {
  return { level: "error", message, remedy };
}

/** `good` if there is nothing to complain of. */
export function orFine(problems: readonly Finding[], good: string): readonly Finding[] {
  return problems.length === 0 ? [fine(good)] : problems;
}
