// Performs: `agent completion SHELL`: prints the script that makes a shell complete command lines of `agent`.

import type { VerbCall } from "../define-verb.ts";
import { UsageError } from "../exit-codes.ts";
import { PROGRAM_FLAGS } from "../flags.ts";
import { commandTree } from "./command-tree.ts";
import { completionScript, isShell, SHELLS } from "./shell-scripts.ts";

/** The exit code. Throws UsageError for another shell. */
export async function printCompletion({ args, terminal, allVerbs }: VerbCall): Promise<0> {
  const [shell = ""] = args;
  if (!isShell(shell))
    throw new UsageError(
      `${JSON.stringify(shell)} is no shell that is known here: name ${SHELLS.join(", ")}`,
    );
  terminal.out(completionScript(shell, commandTree(await allVerbs(), PROGRAM_FLAGS)));
  return 0;
}
