// Performs: `agent config print`: the configuration that `agent run` has, checked and complete, with the settings of documents
// and where they are from; needs no agent.

import type { VerbCall } from "./define-verb.ts";
import { printableText } from "./terminal-text.ts";
import { printObject } from "./json-yaml-output.ts";
import { loadConfigInForce } from "./load-config.ts";

/** The exit code. Throws UsageError with every error of the file. */
export async function printConfig({ flags, terminal }: VerbCall): Promise<0> {
  const { output = "yaml", ...named } = flags<{ readonly output?: "json" | "yaml" }>();
  const { config, origin } = await loadConfigInForce(named, terminal.environment);
  // JSON has no comments.
  const notes = origin.map((line) => `# ${printableText(line)}\n`).join("");
  if (output === "yaml") terminal.out(notes);
  else terminal.err(notes);
  await printObject(terminal, config, output);
  return 0;
}
