// What carrying out commands needs: where answers and ids are stored, and one function for each verb.

import { readValue } from "../api/schema/read-value.ts";
import type { CommandMoment, TakenCommand } from "../protocol/command.ts";
import type { Command } from "./decode-command.ts";
import { refusedArgs, type CommandOutcome } from "./response.ts";
import type { CommandVerb, Verb } from "./verbs.ts";

/** Characters of an argument's name in an answer. */
const MAX_ELEMENT = 63;

/** Whose ids were seen; store/commands is one. */
export interface TakenCommands {
  codeOf(id: string): number | undefined;
  /** How many are held for this session. */
  heldIn(session: number): number;
  begin(command: TakenCommand, at: CommandMoment): void;
  finish(command: TakenCommand, code: number, at: CommandMoment): void;
  unfinished(): readonly TakenCommand[];
}

/** Where answers wait for the broker; store/responses is one. */
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

/** A command that is to be done. */
export interface CommandOrder {
  readonly command: Command;
  /** Tell no more than the reports do. */
  readonly statusOnly: boolean;
  /** The agent ends, or nobody waits any longer. */
  readonly signal: AbortSignal;
  /** Tells how far it is. */
  readonly progress: (data: Readonly<Record<string, unknown>>) => void;
  /** From here on it only takes its time: others may be done beside it. */
  readonly release: () => void;
}

/** Rejects for what nobody expected. */
export type ExecuteCommand = Run;

/** Carries one verb out. */
export type Run = (order: CommandOrder) => CommandOutcome | Promise<CommandOutcome>;
export type Runs = { readonly [verb in CommandVerb]: Run };

/** With the arguments as the table declares them; whatever else is refused, never guessed. */
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
