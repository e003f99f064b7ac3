// Performs: `agent hold` and `agent release` pause and resume updates.

import type { HoldVerb } from "../rollout/update-holds.ts";
import { UsageError } from "./exit-codes.ts";
import { barePodName } from "./pod-argument.ts";
import { printable } from "./terminal-text.ts";
import type { VerbCall } from "./define-verb.ts";

interface NamespaceFlag {
  readonly namespace: string;
}

/** The exit code. Throws CliError unless either a pod or --all is given, and for an unknown pod. */
export async function changeHold(verb: HoldVerb, call: VerbCall): Promise<0> {
  const { args, flags, terminal, connect } = call;
  const { namespace, all = false } = flags<NamespaceFlag & { readonly all?: boolean }>();
  const name = barePodName(args[0] ?? "");
  if ((name === "") !== all)
    throw new UsageError(`give either a pod name or --all: agent ${verb} NAME`);
  const client = await connect();
  await client.changeHold(verb, all ? undefined : { namespace, name });
  const what = all ? "all pods" : `pod/${printable(name)}`;
  const release = all ? "agent release --all" : "agent release";
  const done = verb === "hold" ? `held: updates wait until ${release}` : "released: updates go on";
  terminal.out(`${what} ${done}\n`);
  return 0;
}
