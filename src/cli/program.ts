// Performs: runs the program `agent`: its own flags, the table of verbs, the exit code.

import { Command, CommanderError } from "commander";
import { messageOf } from "../lib/errors.ts";
import { CliError } from "./exit-codes.ts";
import { printableText } from "./terminal-text.ts";
import type { Terminal } from "./process-io.ts";
import { addFlags, addVerb, type Verb, type VerbContext } from "./define-verb.ts";
import { VERBS } from "./verbs.ts";
import { PROGRAM_FLAGS } from "./flags.ts";

/** The verbs of `agent fleet`; loaded only for that verb. */
export interface FleetModule {
  readonly fleetVerbs: (terminal: Terminal) => Required<Pick<Verb, "flags" | "verbs">>;
}

export interface CliOptions extends Omit<VerbContext, "allVerbs"> {
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
    if (options.argv[0] === COMPLETE) return await complete(options);
    for (const verb of await verbsOf(options, options.argv))
      addVerb(program, verb, { context: { ...options, allVerbs: () => allVerbs(options) }, done });
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
  heading: "Many nodes:",
  description: "operate many nodes through the broker: sign, apply, watch; needs no agent",
};

function buildProgram({ terminal, version }: CliOptions): Command {
  const program = new Command("agent")
    .description("Runs pods from manifests and MQTT on this machine, without an API server.")
    .version(`agent ${version}`, "--version", "print the version")
    .configureHelp({
      showGlobalOptions: true,
      styleTitle: (title) => terminal.palette(title, "heading"),
    })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      // What has colours, and whether, is the palette's.
      getOutHasColors: () => true,
      outputError: (text, write) => write(text.replace(/^error: /, "Error: ")),
    })
    .commandsGroup("This program:")
    .helpCommand("help [command]", "display help for command")
    .showHelpAfterError("Run 'agent help' for the verbs and flags.");
  addFlags(program, PROGRAM_FLAGS);
  return program;
}

/** Those of a fleet have their own verbs only where `argv` names it. */
async function verbsOf(options: CliOptions, argv: readonly string[]): Promise<readonly Verb[]> {
  const { terminal, loadFleet } = options;
  if (loadFleet === undefined) return VERBS;
  if (!argv.includes(FLEET_VERB.usage)) return [...VERBS, FLEET_VERB];
  const { fleetVerbs } = await loadFleet();
  return [...VERBS, { ...FLEET_VERB, ...fleetVerbs(terminal) }];
}

function allVerbs(options: CliOptions): Promise<readonly Verb[]> {
  return verbsOf(options, [FLEET_VERB.usage]);
}

/** Hidden: `agent __complete -- WORD…`, as the scripts of `agent completion` call it. */
const COMPLETE = "__complete";

async function complete(options: CliOptions): Promise<number> {
  const { argv, terminal } = options;
  const words = argv.slice(argv[1] === "--" ? 2 : 1);
  const { complete: completeWords } = await import("./completion/complete.ts");
  return completeWords(words, { terminal, verbs: await verbsOf(options, words) });
}

/** `help get` means `get --help`. */
function plainWords(argv: readonly string[]): string[] {
  return argv[0] === "help" ? [...argv.slice(1), "--help"] : [...argv];
}
