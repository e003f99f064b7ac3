// What a shell may write in place of the last word of a command line of `agent`.

import type { Completes } from "../flags.ts";
import type { ShellCommand, ShellFlag } from "./command-tree.ts";

export interface Candidate {
  readonly word: string;
  readonly about: string;
}

export interface Place {
  /** Words that need no agent. */
  readonly candidates: readonly Candidate[];
  /** What else may stand there; undefined = nothing. */
  readonly completes: Completes | undefined;
  /** What is written already: `--for=` of `--for=del`. */
  readonly prefix: string;
  /** The word itself, without that. */
  readonly current: string;
  /** Arguments before it. */
  readonly args: readonly string[];
  /** Values of the flags before it, by their long name. */
  readonly values: ReadonlyMap<string, string>;
}

interface Read {
  command: ShellCommand;
  readonly args: string[];
  readonly values: Map<string, string>;
  readonly given: Set<ShellFlag>;
  /** Whose value is the next word. */
  open: ShellFlag | undefined;
  /** After `--`, words belong to another program. */
  isForeign: boolean;
}

/** `words`: without the program, and with the one that is written now as the last, which may be "". */
export function placeOf(program: ShellCommand, words: readonly string[]): Place {
  const current = words.at(-1) ?? "";
  const read: Read = {
    command: program,
    args: [],
    values: new Map(),
    given: new Set(),
    open: undefined,
    isForeign: false,
  };
  for (const word of words.slice(0, -1)) take(word, read);
  const { args, values } = read;
  const place = { candidates: [], completes: undefined, prefix: "", current, args, values };
  if (read.isForeign) return place;
  if (read.open !== undefined) return { ...place, completes: read.open.completes };
  const [, name = "", value] = /^(--[a-z-]+)=(.*)$/s.exec(current) ?? [];
  if (value !== undefined) {
    const completes = flagOf(read.command, name)?.completes;
    return { ...place, completes, prefix: `${name}=`, current: value };
  }
  if (current.startsWith("-")) return { ...place, candidates: flagCandidates(read) };
  const { below, completes } = read.command;
  if (below.length > 0) return { ...place, candidates: below.map(commandCandidate) };
  return { ...place, completes: completes[args.length] ?? completes.at(-1) };
}

function take(word: string, read: Read): void {
  if (read.isForeign) return;
  if (read.open !== undefined) {
    give(read, read.open, word);
    read.open = undefined;
    return;
  }
  if (word === "--") {
    read.isForeign = true;
    return;
  }
  if (word.startsWith("-")) return takeFlag(word, read);
  const below = read.command.below.find(({ words }) => words.includes(word));
  if (below === undefined) read.args.push(word);
  else read.command = below;
}

function takeFlag(word: string, read: Read): void {
  const [name = "", ...value] = word.split("=");
  const flag = flagOf(read.command, name) ?? flagOf(read.command, word.slice(0, 2));
  if (flag === undefined) return;
  const joined =
    value.length > 0 ? value.join("=") : flag.words.includes(word) ? undefined : word.slice(2);
  read.given.add(flag);
  if (flag.value === undefined) return;
  if (joined === undefined) read.open = flag.isValueOptional ? undefined : flag;
  else give(read, flag, joined);
}

function give(read: Read, flag: ShellFlag, value: string): void {
  read.values.set(flag.words.at(-1) ?? "", value);
}

function flagOf({ flags }: ShellCommand, word: string): ShellFlag | undefined {
  return flags.find(({ words }) => words.includes(word));
}

/** Each once, by its long name. */
function flagCandidates({ command, given }: Read): readonly Candidate[] {
  return command.flags.filter((flag) => flag.isRepeatable || !given.has(flag)).map(flagCandidate);
}

export function flagCandidate({ words, about }: ShellFlag): Candidate {
  return { word: words.at(-1) ?? "", about };
}

export function commandCandidate({ words: [word = ""], about }: ShellCommand): Candidate {
  return { word, about };
}
