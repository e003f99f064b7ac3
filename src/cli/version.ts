// Performs: `agent version`: of this binary, and of the running agent. kubectl: version

import { isJsonObject } from "../lib/json.ts";
import { versionInfo } from "../lib/version-info.ts";
import type { VerbCall } from "./define-verb.ts";
import { printObject } from "./json-yaml-output.ts";
import { printableText } from "./terminal-text.ts";

/** The exit code. Throws CliError if the agent is asked for and cannot be reached. */
export async function printVersion({ flags, terminal, version, connect }: VerbCall): Promise<0> {
  const { config, socket, output } = flags<{ readonly output?: "json" | "yaml" }>();
  const isServerAsked = config !== undefined || socket !== undefined;
  if (output === undefined) {
    terminal.out(`agent ${version}\n`);
    if (isServerAsked)
      terminal.out(`running: agent ${printableText(await (await connect()).version())}\n`);
    return 0;
  }
  const clientVersion = versionInfo(version, process.arch);
  const server = isServerAsked
    ? { serverVersion: await (await connect()).read("/version", isJsonObject) }
    : {};
  await printObject(terminal, { clientVersion, ...server }, output);
  return 0;
}
