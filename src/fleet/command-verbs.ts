// Performs: the verbs of `agent fleet` that send a node a command about one of its pods, made of the table of commands.

import { readValue } from "../api/schema/read-value.ts";
import type { Field } from "../api/schema/type.ts";
import { VERBS, verbsWhere, type CommandVerb } from "../command/verbs.ts";
import { UsageError } from "../cli/exit-codes.ts";
import { namespaceFlag, type Flag } from "../cli/flags.ts";
import type { Verb } from "../cli/define-verb.ts";
import type { CommandFlags } from "./send-command.ts";
import { named } from "./fleet-topics.ts";
import type { FleetParts } from "./open-broker.ts";
import { keyFlag, timeoutFlag, wholeNumber } from "./flags.ts";

/** A pod may take its grace period, and its images may have to be pulled. */
const CHANGE_TIMEOUT = "5m";
/** As in kubectl. */
const SHORT = new Map([["container", "-c, "]]);

export function commandVerbs(parts: FleetParts): readonly Verb[] {
  return verbsWhere((one) => one.fleet).map((verb) => verbOf(parts, verb));
}

/** `agent fleet <verb> <node> <pod>`, with a flag for each further argument. */
function verbOf(parts: FleetParts, verb: CommandVerb): Verb {
  const { about, arguments: type } = VERBS[verb];
  const { namespace: _, pod: podField, ...others } = type.level ?? {};
  return {
    usage: `${verb} <node> ${podField?.required === true ? "<pod>" : "[pod]"}`,
    description: about,
    flags: {
      ...namespaceFlag("namespace of the pod"),
      ...keyFlag("private key in PEM that signs the command"),
      ...timeoutFlag(CHANGE_TIMEOUT, "how long to wait for the answer"),
      ...Object.fromEntries(Object.entries(others).map(([name, field]) => flagOf(name, field))),
    },
    run: async ({ args: [node = "", pod], flags: read }) => {
      const flags = read<CommandFlags & Readonly<Record<string, unknown>>>();
      const written = Object.keys(others).flatMap((name): [string, unknown][] =>
        flags[name] === undefined ? [] : [[name, flags[name]]],
      );
      const args: Readonly<Record<string, unknown>> = {
        ...(pod === undefined ? {} : { namespace: named(flags.namespace), pod: named(pod) }),
        ...Object.fromEntries(written),
      };
      const judged = readValue<unknown>(type, args);
      if (!judged.ok)
        throw new UsageError(`${judged.errors[0]?.message ?? ""}; see agent fleet ${verb} --help`);
      const { command } = await import("./send-command.ts");
      return command(parts, flags, { node: named(node), verb, args });
    },
  };
}

function flagOf(name: string, { type, about }: Field): [string, Flag] {
  const value = type === "boolean" ? "" : ` <${name}>`;
  const parse = type === "integer" ? { parse: wholeNumber } : {};
  return [`${SHORT.get(name) ?? ""}--${name}${value}`, { description: about, ...parse }];
}
