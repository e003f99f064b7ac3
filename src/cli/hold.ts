// Performs: `agent hold` and `agent release`: pause and resume the updates of a pod, or of all pods of this node.

import { CliError } from "./cli-error.ts";
import type { HoldVerb } from "../rollout/update-holds.ts";
import { bareName } from "./get/query.ts";
import { PODS } from "./get/resources.ts";
import type { LocalClient } from "./local-client.ts";
import { printable } from "./terminal-text.ts";
import type { Terminal } from "./terminal.ts";

export interface HoldOptions {
  readonly client: LocalClient;
  readonly terminal: Terminal;
  readonly verb: HoldVerb;
  /** As written: `web` or `pod/web`; undefined = none was named. */
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  /** The whole node. */
  readonly all: boolean;
}

/** The exit code. Throws CliError unless either a pod or --all is given, and for an unknown pod. */
export async function changeHold(options: HoldOptions): Promise<0> {
  const { client, terminal, verb, name, namespace = "default", all } = options;
  const bare = name === undefined ? undefined : bareName(PODS, name);
  if ((bare === undefined || bare === "") !== all)
    throw new CliError(2, `give either a pod name or --all: agent ${verb} NAME`);
  const pod = bare === undefined || all ? undefined : { namespace, name: bare };
  await client.changeHold(verb, pod);
  const what = pod === undefined ? "all pods" : `pod/${printable(pod.name)}`;
  const release = pod === undefined ? "agent release --all" : "agent release";
  const done = verb === "hold" ? `held: updates wait until ${release}` : "released: updates go on";
  terminal.out(`${what} ${done}\n`);
  return 0;
}
