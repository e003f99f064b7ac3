// The table of verbs as a shell sees it: every command with its words, its flags, and what may follow.

import type { Verb } from "../define-verb.ts";
import type { Completes, Flag, Flags } from "../flags.ts";

export interface ShellFlag {
  /** `--namespace`, with `-n` before it if there is one. */
  readonly words: readonly string[];
  /** `namespace`; undefined = it takes no value. */
  readonly value: string | undefined;
  /** `--wait` alone has a value too. */
  readonly isValueOptional: boolean;
  readonly about: string;
  readonly completes: Completes;
  readonly isRepeatable: boolean;
}

export interface ShellCommand {
  /** Its name, and its aliases. */
  readonly words: readonly string[];
  /** `agent top pod`. */
  readonly path: string;
  readonly about: string;
  /** Its own, those of the commands above it, and those of the program. */
  readonly flags: readonly ShellFlag[];
  readonly completes: readonly Completes[];
  readonly below: readonly ShellCommand[];
}

const HELP: ShellFlag = {
  words: ["-h", "--help"],
  value: undefined,
  isValueOptional: false,
  about: "display help for command",
  completes: [],
  isRepeatable: false,
};

/** The program itself, with every command below it. */
export function commandTree(verbs: readonly Verb[], programFlags: Flags): ShellCommand {
  const inherited = [...shellFlags(programFlags), HELP];
  const help: Verb = {
    usage: "help [command]",
    description: "display help for command",
    completes: ["verbs"],
  };
  const version = shellFlags({ "--version": "print the version" });
  const below = [...verbs, help].map((verb) => commandOf(verb, "agent", inherited));
  return {
    words: ["agent"],
    path: "agent",
    about: "",
    flags: [...version, ...inherited],
    completes: [],
    below,
  };
}

function commandOf(
  { usage, aliases = [], description, flags = {}, completes = [], verbs = [] }: Verb,
  above: string,
  inherited: readonly ShellFlag[],
): ShellCommand {
  const [name = ""] = usage.split(" ");
  const path = `${above} ${name}`;
  const all = [...shellFlags(flags), ...inherited];
  const below = verbs.map((verb) => commandOf(verb, path, all));
  return { words: [name, ...aliases], path, about: description, flags: all, completes, below };
}

function shellFlags(flags: Flags): readonly ShellFlag[] {
  return Object.entries(flags).map(([usage, flag]) =>
    shellFlag(usage, typeof flag === "string" ? { description: flag } : flag),
  );
}

/** `-n, --namespace <namespace>`, `--wait [bool]`, `--now`. */
function shellFlag(
  usage: string,
  { description, choices, completes, isRepeatable }: Flag,
): ShellFlag {
  const words = usage.match(/-{1,2}[a-zA-Z][a-zA-Z-]*/g) ?? [];
  const [, bracket, value] = /([<[])([^>\]]+)/.exec(usage) ?? [];
  return {
    words: [...words],
    value,
    isValueOptional: bracket === "[",
    about: description,
    completes: choices ?? completes ?? byValue(value),
    isRepeatable: isRepeatable === true,
  };
}

function byValue(value: string | undefined): Completes {
  if (value === "file" || value === "directory" || value === "path") return "files";
  return value === "bool" ? ["true", "false"] : [];
}

/** Every command below `command`, and itself. */
export function allCommands(command: ShellCommand): readonly ShellCommand[] {
  return [command, ...command.below.flatMap(allCommands)];
}
