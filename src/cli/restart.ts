// Performs: `agent restart`: restarts the containers of a pod and waits until they run again.

import type { VerbCall } from "./define-verb.ts";
import { UsageError } from "./exit-codes.ts";
import { barePodName } from "./pod-argument.ts";
import { withProgress } from "./terminal/progress-line.ts";
import { printable } from "./terminal-text.ts";

interface RestartFlags {
  readonly namespace: string;
  readonly container?: string;
}

/** The exit code. Throws CliError for an unknown pod, and when a container does not start again. */
export async function restart({ args, flags, terminal, connect }: VerbCall): Promise<0> {
  const { namespace, container } = flags<RestartFlags>();
  const name = barePodName(args[0] ?? "");
  if (name === "") throw new UsageError("name a pod: agent restart NAME");
  const client = await connect();
  const text = (seconds: number): string =>
    `waiting until ${container === undefined ? "the containers" : `container ${container}`} of pod/${name} run again (${seconds} s)`;
  const done = await withProgress(terminal, text, () =>
    client.restart({ namespace, name }, container, terminal.interrupted()),
  );
  const counts = done.map((one) => `${one.name} (restart ${one.restartCount})`).join(", ");
  terminal.out(`pod/${printable(name)} restarted: ${printable(counts)}\n`);
  return 0;
}
