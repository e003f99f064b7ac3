// Performs: what the room of commands needs of its neighbours: where answers and ids are kept, and who does what is
// asked.

import type { Command, CommandMoment, TakenCommand } from "../protocol/command.ts";
import type { CommandOutcome } from "./response.ts";

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
export type ExecuteCommand = (order: CommandOrder) => Promise<CommandOutcome>;
