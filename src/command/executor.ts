// The interfaces for carrying out commands: stores of answers and ids, and one function for each verb.

import { readValue } from "../api/schema/read-value.ts";
import type { CommandMoment, TakenCommand } from "../protocol/command.ts";
import type { Command } from "./decode-command.ts";
import { refusedArgs, type CommandOutcome } from "./response.ts";
import type { CommandVerb, Verb } from "./verbs.ts";

/** Characters of an argument's name in an answer. */
const MAX_ELEMENT = 63;

/** The accepted commands by id; implemented by store/commands. */
export interface TakenCommands {
  codeOf(id: string): number | undefined;
  /** Number of ids held for this session. */
  heldIn(session: number): number;
  begin(command: TakenCommand, at: CommandMoment): void;
  finish(command: TakenCommand, code: number, at: CommandMoment): void;
  unfinished(): readonly TakenCommand[];
}

/** Answers that wait for the broker; implemented by store/responses. */
export interface ResponseRows {
  add(
    responses: readonly {
      readonly topic: string;
      readonly payload: Uint8Array;
      readonly correlation?: Uint8Array;
      readonly expiresAt: number;
    }[],
    now: number,
  ): void;
  forgetExpired(now: number): void;
}

/** A command to carry out. */
export interface CommandOrder {
  readonly command: Command;
  /** The answer must contain no more than the reports. */
  readonly statusOnly: boolean;
  /** Aborts when the agent ends. */
  readonly signal: AbortSignal;
  /** Publishes the progress. */
  readonly progress: (data: Readonly<Record<string, unknown>>) => void;
  /** To be called when the command only waits: other commands may then run beside it. */
  readonly release: () => void;
}

/** Rejects on unexpected errors. */
export type ExecuteCommand = Run;

/** Carries one verb out. */
export type Run = (order: CommandOrder) => CommandOutcome | Promise<CommandOutcome>;
export type Runs = { readonly [verb in CommandVerb]: Run };

/** Reads the arguments as the table of verbs declares them; others are refused. */
export function running<A>(
  { arguments: type }: Verb<A>,
  run: (args: A, order: CommandOrder) => CommandOutcome | Promise<CommandOutcome>,
): Run {
  return (order) => {
    const read = readValue(type, order.command.args);
    if (read.ok) return run(read.value, order);
    const { path = "", message = "" } = read.errors[0] ?? {};
    return refusedArgs(path === "" ? "args" : `args.${path.slice(0, MAX_ELEMENT)}`, message);
  };
}
