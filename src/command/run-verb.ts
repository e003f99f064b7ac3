// How a verb is carried out: its arguments are read, and unknown or invalid ones are refused; one function for each verb.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { isStatic } from "../api/pod/labels.ts";
import { podName } from "../api/v1/pod.ts";
import { readValue } from "../api/schema/read-value.ts";
import type { Commands as StoredCommands } from "../store/commands.ts";
import type { Responses } from "../store/outbox/responses.ts";
import { failure, refusedArgs, type CommandOutcome } from "./response.ts";
import type { CommandVerb, Verb } from "./verbs.ts";
import { type Command } from "./judge-command.ts";

/** Characters of an argument's name in an answer. */
const MAX_ELEMENT = 63;

/** The accepted commands by id. */
export type TakenCommands = Pick<
  StoredCommands,
  "codeOf" | "heldIn" | "begin" | "finish" | "unfinished"
>;

/** Answers that wait for the broker. */
export type ResponseRows = Pick<Responses, "add" | "forgetExpired">;

/** A command to carry out. */
export interface CommandOrder {
  readonly command: Command;
  readonly signed: boolean;
  /** Ids of the keys whose signatures count. */
  readonly by: readonly string[];
  /** The answer must contain no more than the reports. */
  readonly statusOnly: boolean;
  /** Aborts when the agent ends. */
  readonly signal: AbortSignal;
  /** Publishes the progress. */
  readonly progress: (data: Readonly<Record<string, unknown>>) => void;
  /** To be called when the command only waits: other commands may then run beside it. */
  readonly release: () => void;
}

/**
 * 403 for an unsigned command about a pod of a file: any client that may publish on the topic could have written it.
 * undefined = the command reaches the pod.
 */
export function outOfReach(
  { signed }: Pick<CommandOrder, "signed">,
  { source, pod }: DesiredPod,
): CommandOutcome | undefined {
  if (signed || !isStatic(source)) return undefined;
  const message = `pod ${podName(pod)} comes from a file, and unsigned commands reach pods of documents only; sign the command, or use agent on the device`;
  return failure(403, "Forbidden", message);
}

/** Carries one verb out; rejects on unexpected errors. */
export type Run = (order: CommandOrder) => CommandOutcome | Promise<CommandOutcome>;
export type Runs = { readonly [verb in CommandVerb]: Run };

/** Reads the arguments as the table of verbs declares them; others are refused. */
export function running<A>(
  { arguments: type }: Verb<A>,
  run: (args: A, order: CommandOrder) => ReturnType<Run>,
): Run {
  return (order) => {
    const read = readValue(type, order.command.args);
    if (read.ok) return run(read.value, order);
    const { path = "", message = "" } = read.errors[0] ?? {};
    return refusedArgs(path === "" ? "args" : `args.${path.slice(0, MAX_ELEMENT)}`, message);
  };
}
