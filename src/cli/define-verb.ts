// Performs: defines a verb of `agent`, and makes commands with flags and help of the table of verbs.

import { Option, type Command } from "commander";
import type { AgentConfig, ConfigFields } from "../config/config.ts";
import type { ProvisionReport } from "../provision/report.ts";
import type { Completes, Flag, Flags } from "./flags.ts";
import type { ConnectionFlags } from "./load-config.ts";
import type { LocalClient } from "./local-client.ts";
import type { Terminal } from "./process-io.ts";

/** What `agent run` needs of the agent; loaded only then, so that every other verb starts at once. */
export interface AgentModule {
  readonly runAgent: (options: {
    readonly config: AgentConfig;
    readonly fields: ConfigFields;
    readonly version: string;
    readonly provisioned: ProvisionReport | undefined;
  }) => Promise<number>;
}

export interface Verb {
  /** With its argument, if it takes one: `pod <name>`, `pods [name]`. */
  readonly usage: string;
  readonly aliases?: readonly string[];
  readonly description: string;
  /** Of the help of the program. */
  readonly heading?: string;
  readonly flags?: Flags;
  /** What a shell may write as arguments, by their place; the last one holds for those that follow. */
  readonly completes?: readonly Completes[];
  /** One of these follows. */
  readonly verbs?: readonly Verb[];
  /** Resolves to the exit code. Absent if there are `verbs`. */
  readonly run?: (call: VerbCall) => number | Promise<number>;
}

/** What the program gives to every verb. */
export interface VerbContext {
  readonly terminal: Terminal;
  /** Of this binary. */
  readonly version: string;
  readonly loadAgent: () => Promise<AgentModule>;
  /** The whole table, with the verbs of `agent fleet`. */
  readonly allVerbs: () => Promise<readonly Verb[]>;
}

export interface VerbCall extends VerbContext {
  /** As written, in the order of `usage`; those that are optional may be absent. */
  readonly args: readonly string[];
  /** The flags of this verb and of the program, by the long name in camel case. */
  readonly flags: <Flags extends object>() => Flags & ConnectionFlags;
  /** The running agent. */
  readonly connect: () => Promise<LocalClient>;
}

/** Adds `verb` and its sub-verbs to `parent`; `done` takes the exit code. */
export function addVerb(
  parent: Command,
  verb: Verb,
  parts: { readonly context: VerbContext; readonly done: (code: number) => void },
): void {
  const { usage, aliases = [], description, heading, flags = {}, verbs = [], run } = verb;
  const command = parent.command(usage).aliases(aliases).description(description);
  if (heading !== undefined) command.helpGroup(heading);
  addFlags(command, flags);
  for (const below of verbs) addVerb(command, below, parts);
  if (run === undefined) return;
  command.action(async () => parts.done(await run(callOf(command, parts.context))));
}

function callOf(command: Command, context: VerbContext): VerbCall {
  const flags = <Flags extends object>() => command.optsWithGlobals<Flags & ConnectionFlags>();
  return {
    ...context,
    args: command.args,
    flags,
    connect: async () => {
      // Loaded with all that they decode only for verbs that ask the agent: the help starts at once.
      const { connectAgent } = await import("./connect-agent.ts");
      return connectAgent(flags(), context.terminal);
    },
  };
}

export function addFlags(command: Command, flags: Flags): void {
  for (const [usage, flag] of Object.entries(flags))
    command.addOption(optionOf(usage, typeof flag === "string" ? { description: flag } : flag));
}

function optionOf(usage: string, { parse, ...flag }: Flag): Option {
  const option = new Option(usage, flag.description);
  if (flag.default !== undefined) option.default(flag.default, flag.defaultText);
  if (flag.choices !== undefined) option.choices(flag.choices);
  if (flag.isRepeatable === true) option.argParser(collect);
  if (parse !== undefined) option.argParser((written) => parse(written));
  return option.makeOptionMandatory(flag.isRequired === true);
}

function collect(value: string, earlier: readonly string[] | undefined): readonly string[] {
  return [...(earlier ?? []), value];
}
