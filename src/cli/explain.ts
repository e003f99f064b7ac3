// `agent explain`: what the fields of a manifest mean on this node; needs no agent.

import { CliError } from "./cli-error.ts";
import { everyField, explainField, explainUsage } from "./explain-field.ts";
import type { Terminal } from "./terminal.ts";

export interface ExplainOptions {
  /** A kind, a path of a field, or `fields`. */
  readonly asked: string | undefined;
  readonly recursive: boolean;
  readonly terminal: Terminal;
}

/** The exit code; throws CliError, exit code 2, when there is no such field. */
export function explain({ asked, recursive, terminal }: ExplainOptions): 0 {
  terminal.out(explanation(asked, recursive));
  return 0;
}

function explanation(asked: string | undefined, recursive: boolean): string {
  if (asked === undefined) return explainUsage();
  if (asked === "fields") return everyField();
  if (asked.includes("/")) throw new CliError(2, objectQuestion(asked));
  const explained = explainField(asked, recursive);
  if (!explained.ok) throw new CliError(2, explained.message);
  return explained.text;
}

function objectQuestion(asked: string): string {
  return `explaining an object (${asked}) is not built yet; agent get events --for ${asked} says what happened to it`;
}
