// Performs: the verbs of `agent fleet` that ask a node for something about one of its pods.

import type { Command } from "commander";
import { isTopicName } from "../protocol/mqtt-topics.ts";
import { CliError } from "../cli/cli-error.ts";
import type { CommandAsk, CommandFlags } from "./command.ts";
import { collect, timeoutOption, wholeNumber, type VerbParts } from "./verb-options.ts";

interface LogFlags extends CommandFlags {
  readonly container?: string;
  readonly tail?: number;
  readonly follow?: boolean;
}

/** A pod may take its grace period, and its images may have to be pulled. */
const CHANGE_TIMEOUT = "5m";
const LOG_TIMEOUT = "30s";
const HOLDS = {
  hold: "keep a pod, or all of a node, from being updated until it is released",
  release: "end a hold, and let a failed revision be tried again",
} as const;

interface HoldFlags extends CommandFlags {
  readonly all?: boolean;
}

export function addCommandVerbs(fleet: Command, parts: VerbParts): void {
  addLogs(fleet, parts);
  addRestart(fleet, parts);
  addHolds(fleet, parts);
}

function addRestart(fleet: Command, parts: VerbParts): void {
  podCommand(fleet.command("restart <node> <pod>"), CHANGE_TIMEOUT)
    .description("stop a pod gracefully and start it again")
    .action(async (node: string, pod: string, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<CommandFlags>();
      const args = podArgs(pod, flags.namespace);
      await ask(parts, flags, () => ({ node: named(node), verb: "restart", args }));
    });
}

function addHolds(fleet: Command, parts: VerbParts): void {
  for (const verb of ["hold", "release"] as const) {
    podCommand(fleet.command(`${verb} <node> [pod]`), CHANGE_TIMEOUT)
      .description(HOLDS[verb])
      .option("--all", "all pods of the node")
      .action(async (node: string, pod: string | undefined, _flags: unknown, command: Command) => {
        const flags = command.optsWithGlobals<HoldFlags>();
        const { all = false, namespace } = flags;
        if ((pod === undefined) !== all)
          throw new CliError(2, `name a pod, or --all: agent fleet ${verb} NODE POD`);
        const args = pod === undefined ? { all } : podArgs(pod, namespace);
        await ask(parts, flags, () => ({ node: named(node), verb, args }));
      });
  }
}

function addLogs(fleet: Command, parts: VerbParts): void {
  podCommand(fleet.command("logs <node> <pod>"), LOG_TIMEOUT)
    .description("the last lines of a container's log")
    .option("-c, --container <name>", "of a pod with several")
    .option("--tail <lines>", "how many", wholeNumber)
    .option("-f, --follow", "what comes from now on, until Ctrl-C or the node's lease ends")
    .action(async (node: string, pod: string, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<LogFlags>();
      const { container, tail, follow, namespace } = flags;
      if (follow === true && tail !== undefined)
        throw new CliError(
          2,
          "--tail and --follow exclude each other: one shows the past, one what comes",
        );
      const args = {
        ...podArgs(pod, namespace),
        ...(container === undefined ? {} : { container: named(container) }),
        ...(tail === undefined ? {} : { tail }),
        ...(follow === true ? { follow: true } : {}),
      };
      await ask(parts, flags, (root) => ({
        node: named(node),
        verb: "logs",
        args,
        // Where no container is named the node knows it, and the topic of any will do.
        ...(follow === true
          ? { follow: `${root}/node/${node}/log/${namespace}/${pod}/${container ?? "+"}` }
          : {}),
      }));
    });
}

function podCommand(command: Command, timeout: string): Command {
  return command
    .option("-n, --namespace <namespace>", "of the pod", "default")
    .option("--key <file>", "private key in PEM that signs the command (repeatable)", collect)
    .addOption(timeoutOption(timeout, "how long to wait for the answer"));
}

async function ask(
  parts: VerbParts,
  flags: CommandFlags,
  askOf: (root: string) => CommandAsk,
): Promise<void> {
  const { command } = await import("./command.ts");
  parts.done(await command(parts, flags, askOf));
}

function podArgs(pod: string, namespace: string): Readonly<Record<string, string>> {
  return { namespace: named(namespace), pod: named(pod) };
}

function named(name: string): string {
  if (isTopicName(name)) return name;
  throw new CliError(2, `${JSON.stringify(name)} cannot be a name`);
}
