// Performs: the verbs of `agent fleet` that send a node a command about one of its pods.

import { readValue } from "../api/schema/read-value.ts";
import { VERBS, verbsWhere, type CommandVerb } from "../command/verbs.ts";
import { isTopicName } from "../protocol/mqtt-topics.ts";
import { UsageError } from "../cli/cli-error.ts";
import { namespaceFlag, type Flags } from "../cli/flags.ts";
import type { Verb } from "../cli/verb.ts";
import type { CommandAsk, CommandFlags } from "./command.ts";
import type { FleetParts } from "./open-broker.ts";
import { keyFlag, timeoutFlag, wholeNumber } from "./verb-options.ts";

interface LogFlags extends CommandFlags {
  readonly container?: string;
  readonly tail?: number;
  readonly follow?: boolean;
}

/** A pod may take its grace period, and its images may have to be pulled. */
const CHANGE_TIMEOUT = "5m";
const LOG_TIMEOUT = "30s";

export function commandVerbs(parts: FleetParts): readonly Verb[] {
  return [logsVerb(parts), ...verbsWhere((one) => one.fleet).map((verb) => verbOf(parts, verb))];
}

/** `agent fleet <verb> <node> <pod>`, with a flag for each further argument. */
function verbOf(parts: FleetParts, verb: CommandVerb): Verb {
  const { about, arguments: type } = VERBS[verb];
  const { namespace: _, pod: podField, ...others } = type.level ?? {};
  return {
    usage: `${verb} <node> ${podField?.required === true ? "<pod>" : "[pod]"}`,
    description: about,
    flags: {
      ...commandFlags(CHANGE_TIMEOUT),
      ...Object.fromEntries(
        Object.entries(others).map(([name, field]) => [
          field.type === "boolean" ? `--${name}` : `--${name} <${name}>`,
          field.about,
        ]),
      ),
    },
    run: async ({ args: [node = "", pod], flags: read }) => {
      const flags = read<CommandFlags & Readonly<Record<string, unknown>>>();
      const written = Object.keys(others).flatMap((name): [string, unknown][] =>
        flags[name] === undefined ? [] : [[name, flags[name]]],
      );
      const args = {
        ...(pod === undefined ? {} : podArgs(pod, flags.namespace)),
        ...Object.fromEntries(written),
      };
      const judged = readValue<unknown>(type, args);
      if (!judged.ok)
        throw new UsageError(`${judged.errors[0]?.message ?? ""}; see agent fleet ${verb} --help`);
      return send(parts, flags, () => ({ node: named(node), verb, args }));
    },
  };
}

function logsVerb(parts: FleetParts): Verb {
  return {
    usage: "logs <node> <pod>",
    description: VERBS.logs.about,
    flags: {
      ...commandFlags(LOG_TIMEOUT),
      "-c, --container <name>": "container, if the pod has several",
      "--tail <lines>": { description: "number of lines", parse: wholeNumber },
      "-f, --follow": "print new lines, until Ctrl-C or the node's lease ends",
    },
    run: async ({ args: [node = "", pod = ""], flags: read }) => {
      const flags = read<LogFlags>();
      const { container, tail, follow = false, namespace } = flags;
      if (follow && tail !== undefined)
        throw new UsageError("--tail and --follow exclude each other: give one of them");
      const args = {
        ...podArgs(pod, namespace),
        ...(container === undefined ? {} : { container: named(container) }),
        ...(tail === undefined ? {} : { tail }),
        ...(follow ? { follow } : {}),
      };
      return send(parts, flags, (root) => ({
        node: named(node),
        verb: "logs",
        args,
        // The node knows the container of a pod that has one; the topic of any container matches.
        ...(follow
          ? { follow: `${root}/node/${node}/log/${namespace}/${pod}/${container ?? "+"}` }
          : {}),
      }));
    },
  };
}

function commandFlags(timeout: string): Flags {
  return {
    ...namespaceFlag("namespace of the pod"),
    ...keyFlag("private key in PEM that signs the command"),
    ...timeoutFlag(timeout, "how long to wait for the answer"),
  };
}

async function send(
  parts: FleetParts,
  flags: CommandFlags,
  askOf: (root: string) => CommandAsk,
): Promise<number> {
  const { command } = await import("./command.ts");
  return command(parts, flags, askOf);
}

function podArgs(pod: string, namespace: string): Readonly<Record<string, string>> {
  return { namespace: named(namespace), pod: named(pod) };
}

function named(name: string): string {
  if (isTopicName(name)) return name;
  throw new UsageError(`${JSON.stringify(name)} cannot be a name`);
}
