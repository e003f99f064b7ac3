// Reads the arguments of a command: whatever is not known is refused, never guessed.

import { refusedArgs, type CommandOutcome } from "./response.ts";

type Kind = "text" | "count" | "flag";
type Value<K extends Kind> = K extends "text" ? string : K extends "count" ? number : boolean;
export type Args<S extends Readonly<Record<string, Kind>>> = {
  readonly [name in keyof S]?: Value<S[name]>;
};

/** The arguments by name, or the answer that says what is wrong with them. */
export function readArgs<S extends Readonly<Record<string, Kind>>>(
  written: Readonly<Record<string, unknown>>,
  kinds: S,
):
  | { readonly ok: true; readonly args: Args<S> }
  | { readonly ok: false; readonly outcome: CommandOutcome } {
  for (const [name, value] of Object.entries(written)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    const problem = kind === undefined ? unknownArg(kinds) : problemOf(kind, value);
    if (problem !== undefined)
      return { ok: false, outcome: refusedArgs(`args.${name.slice(0, 63)}`, problem) };
  }
  return { ok: true, args: written as Args<S> };
}

function unknownArg(kinds: Readonly<Record<string, Kind>>): string {
  const known = Object.keys(kinds);
  return known.length === 0 ? "the verb takes no arguments" : `must be one of ${known.join(", ")}`;
}

function problemOf(kind: Kind, value: unknown): string | undefined {
  switch (kind) {
    case "text":
      return typeof value === "string" && value !== "" ? undefined : "must be a text";
    case "count":
      return Number.isSafeInteger(value) && Number(value) >= 0
        ? undefined
        : "must be a whole number from 0 on";
    case "flag":
      return typeof value === "boolean" ? undefined : "must be true or false";
  }
}
