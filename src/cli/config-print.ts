// Performs: `agent config print`: the configuration that `agent run` has, checked and complete; needs no agent.

import type { VerbCall } from "./define-verb.ts";
import { printObject } from "./json-yaml-output.ts";
import { loadConfigInForce } from "./load-config.ts";

/** The exit code. Throws UsageError with every error of the file. */
export async function printConfig({ flags, terminal }: VerbCall): Promise<0> {
  const { output = "yaml", ...named } = flags<{ readonly output?: "json" | "yaml" }>();
  const config = await loadConfigInForce(named, terminal.environment);
  await printObject(terminal, config, output);
  return 0;
}
