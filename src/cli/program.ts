// Performs: runs the program `agent`: its own flags, the table of verbs, the exit code.

import { Command, CommanderError } from "commander";
import { messageOf } from "../lib/errors.ts";
import { CliError } from "./exit-codes.ts";
import { wordsOf } from "./get/resource-type.ts";
import { RESOURCES } from "./get/resources.ts";
import { printableText } from "./terminal-text.ts";
import type { Terminal } from "./process-io.ts";
import { addFlags, addVerb, type Verb, type VerbContext } from "./define-verb.ts";
import { VERBS } from "./verbs.ts";
import { PROGRAM_FLAGS } from "./flags.ts";

/** The verbs of `agent fleet`; loaded only for that verb. */
export interface FleetModule {
  readonly fleetVerbs: (terminal: Terminal) => Required<Pick<Verb, "flags" | "verbs">>;
}

export interface CliOptions extends VerbContext {
  /** Without the program's own name. */
  readonly argv: readonly string[];
  /** Absent = this program has no verbs for a fleet. */
  readonly loadFleet?: () => Promise<FleetModule>;
}

/** Runs one verb; resolves to the exit code: 0 ok, 1 failed, 2 usage or invalid input. Never rejects. */
export async function runCli(options: CliOptions): Promise<number> {
  const { terminal } = options;
  const result = { code: 0 };
  const done = (code: number): void => void (result.code = code);
  const program = buildProgram(options);
  try {
    for (const verb of [...VERBS, ...(await fleetVerb(options))])
      addVerb(program, verb, { context: options, done });
    await program.parseAsync(plainWords(options.argv), { from: "user" });
    return result.code;
  } catch (thrown) {
    // Commander has already printed the error, or the help.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
    terminal.err(`Error: ${printableText(messageOf(thrown))}\n`);
    return thrown instanceof CliError ? thrown.exitCode : 1;
  }
}

/** Its own verbs are loaded only if it is called. */
export const FLEET_VERB: Verb = {
  usage: "fleet",
  description: "operate many nodes through the broker: sign, apply, watch; needs no agent",
};

function buildProgram({ terminal, version }: CliOptions): Command {
  const program = new Command("agent")
    .description("Runs pods from manifests and MQTT on this machine, without an API server.")
    .version(`agent ${version}`, "--version", "print the version")
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      outputError: (text, write) => write(text.replace(/^error: /, "Error: ")),
    })
    .showHelpAfterError("Run 'agent help' for the verbs and flags.");
  addFlags(program, PROGRAM_FLAGS);
  return program;
}

async function fleetVerb({ argv, terminal, loadFleet }: CliOptions): Promise<readonly Verb[]> {
  if (loadFleet === undefined) return [];
  if (!argv.includes(FLEET_VERB.usage)) return [FLEET_VERB];
  const { fleetVerbs } = await loadFleet();
  return [{ ...FLEET_VERB, ...fleetVerbs(terminal) }];
}

const RESOURCE_WORDS = new Set(
  RESOURCES.filter(({ isSingle }) => isSingle !== true).flatMap(wordsOf),
);

/** `help get pods` means `get pods --help`, and `get pod/web`, as `-o name` prints it, means `get pod web`. */
function plainWords(argv: readonly string[]): string[] {
  if (argv[0] === "help") return [...argv.slice(1), "--help"];
  return argv.flatMap((word, index) => {
    const [, resource = "", name = ""] = /^([a-z]+)\/(.+)$/.exec(word) ?? [];
    const isObject = ["get", "delete"].includes(argv[index - 1] ?? "");
    return isObject && RESOURCE_WORDS.has(resource) ? [resource, name] : [word];
  });
}
