// Performs: the verbs of `agent` and their flags; each verb's work stands in a file of its own.

import { Command, CommanderError, Option } from "commander";
import type { AgentConfig } from "../config/config.ts";
import { messageOf } from "../lib/errors.ts";
import { CliError } from "./cli-error.ts";
import type { DeletePodFlags } from "./delete-pod.ts";
import { addHold } from "./hold-verbs.ts";
import { findSocket, loadConfig, type Doors } from "./load-config.ts";
import { LocalClient } from "./local-client.ts";
import { addDeleteClaim, addGetObjects, type VerbParts } from "./get/object-verbs.ts";
import { OUTPUT_FORMATS, type OutputFormat } from "./output.ts";
import type { PodQueryFlags } from "./get/pod-query.ts";
import { printableText } from "./printable.ts";
import type { Terminal } from "./terminal.ts";
import { addTrust } from "./trust-verbs.ts";

/** What `agent run` needs of the agent; loaded only then, so that every other verb starts at once. */
export interface AgentModule {
  readonly runAgent: (options: {
    readonly config: AgentConfig;
    readonly version: string;
  }) => Promise<number>;
}

/** What `agent fleet` needs; loaded only when that word is there. */
export interface FleetModule {
  readonly addFleetVerbs: (
    fleet: Command,
    options: { readonly terminal: Terminal; readonly done: (code: number) => void },
  ) => void;
}

export interface CliOptions {
  /** Without the program's own name. */
  readonly argv: readonly string[];
  readonly version: string;
  readonly terminal: Terminal;
  readonly loadAgent: () => Promise<AgentModule>;
  /** Absent = this program has no verbs for a fleet. */
  readonly loadFleet?: () => Promise<FleetModule>;
}

interface GetEventsFlags extends Doors {
  readonly output?: OutputFormat;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  readonly watch?: boolean;
  readonly for?: string;
}

interface GetPodsFlags extends PodQueryFlags, Doors {
  readonly output?: OutputFormat;
  readonly watch?: boolean;
}

/** Runs one verb; resolves to the exit code: 0 ok, 1 failed, 2 usage or invalid input. Never rejects. */
export async function runCli(options: CliOptions): Promise<number> {
  const { terminal } = options;
  const result = { code: 0 };
  const done = (code: number): void => void (result.code = code);
  const program = buildProgram(options, done);
  try {
    await addFleet(program, options, done);
    await program.parseAsync(plainWords(options.argv), { from: "user" });
    return result.code;
  } catch (thrown) {
    // Commander has already said what is wrong, or printed the help that was asked for.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
    terminal.err(`Error: ${printableText(messageOf(thrown))}\n`);
    return thrown instanceof CliError ? thrown.exitCode : 1;
  }
}

function buildProgram(options: CliOptions, done: (code: number) => void): Command {
  const { terminal } = options;
  const program = new Command("agent")
    .description("Runs pods from manifests and MQTT on this machine, without an API server.")
    .version(`agent ${options.version}`, "--version", "print the version")
    .option("--config <file>", "configuration file (AGENT_CONFIG; default /etc/agent/agent.yaml)")
    .option(
      "--socket <path>",
      "socket of the local API (AGENT_SOCKET; default: the configuration's)",
    )
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      outputError: (text, write) => write(text.replace(/^error: /, "Error: ")),
    })
    .showHelpAfterError("Run 'agent help' for the verbs and flags.");
  addRun(program, options, done);
  addGet(program, options, done);
  addDelete(program, options, done);
  addValidate(program, options, done);
  addExplain(program, options, done);
  addHold(program, verbParts(terminal, done));
  addTrust(program, verbParts(terminal, done));
  addVersion(program, options);
  return program;
}

async function addFleet(
  program: Command,
  { argv, terminal, loadFleet }: CliOptions,
  done: (code: number) => void,
): Promise<void> {
  if (loadFleet === undefined) return;
  const fleet = program
    .command("fleet")
    .description("operate many nodes through the broker: sign, apply, watch; needs no agent");
  if (!argv.includes(fleet.name())) return;
  const { addFleetVerbs } = await loadFleet();
  addFleetVerbs(fleet, { terminal, done });
}

function addRun(program: Command, options: CliOptions, done: (code: number) => void): void {
  program
    .command("run")
    .description("run the agent in the foreground")
    .action(async (_flags: Doors, command: Command) => {
      const doors = command.optsWithGlobals<Doors>();
      const config = await loadConfig(doors, options.terminal.environment);
      const { runAgent } = await options.loadAgent();
      done(await runAgent({ config, version: options.version }));
    });
}

function addGet(program: Command, options: CliOptions, done: (code: number) => void): void {
  const { terminal } = options;
  const get = program.command("get").description("show pods, objects, events or the node");
  addGetEvents(get, options, done);
  addGetObjects(get, verbParts(terminal, done));
  get
    .command("pods [name]")
    .aliases(["pod", "po"])
    .description("the pods of this node and what was refused")
    .addOption(outputOption())
    .option("-n, --namespace <namespace>", "of this namespace", "default")
    .option("-A, --all-namespaces", "of all namespaces")
    .option("-w, --watch", "print a line whenever something changes, until Ctrl-C")
    .option("-l, --selector <selector>", "with these labels, such as app=web,tier!=test")
    .action(async (name: string | undefined, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<GetPodsFlags>();
      const { getPods } = await import("./get/get-pods.ts");
      const client = await connect(flags, terminal);
      done(await getPods({ client, terminal, name, flags }));
    });
  get
    .command("node")
    .aliases(["nodes", "no"])
    .description("this node")
    .addOption(outputOption())
    .action(async (_flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<Doors & { readonly output?: OutputFormat }>();
      const { getNode } = await import("./get/get-node.ts");
      const client = await connect(flags, terminal);
      done(await getNode({ client, terminal, output: flags.output }));
    });
}

function addGetEvents(get: Command, options: CliOptions, done: (code: number) => void): void {
  const { terminal } = options;
  get
    .command("events [name]")
    .aliases(["event", "ev"])
    .description("what happened here lately, the latest last")
    .addOption(outputOption())
    .option(
      "-n, --namespace <namespace>",
      "of this namespace; those of the node are in default",
      "default",
    )
    .option("-A, --all-namespaces", "of all namespaces")
    .option("-w, --watch", "print a line whenever something happens, until Ctrl-C")
    .option("--for <object>", "about this object only, such as pod/web")
    .action(async (name: string | undefined, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<GetEventsFlags>();
      const { getEvents } = await import("./get/get-events.ts");
      const client = await connect(flags, terminal);
      done(await getEvents({ client, terminal, name, flags }));
    });
}

function addDelete(program: Command, options: CliOptions, done: (code: number) => void): void {
  const { terminal } = options;
  const remove = program
    .command("delete")
    .description("give a pod that is being stopped less time, or remove the data of a claim");
  addDeleteClaim(remove, verbParts(terminal, done));
  remove
    .command("pod <name>")
    .aliases(["pods", "po"])
    .description("give a pod that is being stopped less time; it is deleted where it is declared")
    .option("-n, --namespace <namespace>", "of this namespace", "default")
    .option("--grace-period <seconds>", "at most so long from now on; 0 kills it at once")
    .option("--now", "the same as --grace-period 1")
    .option("--force", "the same as --grace-period 0")
    .action(async (name: string, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<DeletePodFlags & Doors>();
      const { deletePod } = await import("./delete-pod.ts");
      const client = await connect(flags, terminal);
      done(await deletePod({ client, terminal, name, flags }));
    });
}

function addValidate(program: Command, options: CliOptions, done: (code: number) => void): void {
  program
    .command("validate")
    .description("check manifests without running them; needs no agent")
    .requiredOption(
      "-f, --filename <path>",
      "a file, a directory of *.yaml, *.yml and *.json, or - for standard input (repeatable)",
      (path: string, earlier: readonly string[] | undefined) => [...(earlier ?? []), path],
    )
    .action(async (_flags: unknown, command: Command) => {
      const { filename } = command.opts<{ readonly filename: readonly string[] }>();
      const { validate } = await import("./validate.ts");
      done(await validate({ paths: filename, terminal: options.terminal }));
    });
}

function addExplain(program: Command, options: CliOptions, done: (code: number) => void): void {
  program
    .command("explain [field]")
    .description("what a kind or a field means and how this node treats it; needs no agent")
    .option("--recursive", "only the names of all fields below")
    .action(async (asked: string | undefined, flags: { readonly recursive?: boolean }) => {
      const { explain } = await import("./explain.ts");
      const recursive = flags.recursive === true;
      done(explain({ asked, recursive, terminal: options.terminal }));
    });
}

function addVersion(program: Command, options: CliOptions): void {
  const { terminal } = options;
  program
    .command("version")
    .description("print the version; with --socket or --config also that of the running agent")
    .action(async (_flags: unknown, command: Command) => {
      terminal.out(`agent ${options.version}\n`);
      const doors = command.optsWithGlobals<Doors>();
      if (doors.config === undefined && doors.socket === undefined) return;
      const client = await connect(doors, terminal);
      terminal.out(`running: agent ${printableText(await client.version())}\n`);
    });
}

function outputOption(): Option {
  const option = new Option("-o, --output <format>", "how to print it");
  return option.choices(OUTPUT_FORMATS);
}

function verbParts(terminal: Terminal, done: (code: number) => void): VerbParts {
  return { terminal, done, output: outputOption, connect: (doors) => connect(doors, terminal) };
}

async function connect(doors: Doors, terminal: Terminal): Promise<LocalClient> {
  const socket = await findSocket(doors, terminal.environment);
  return new LocalClient({ socket, clock: terminal.clock });
}

const OBJECT_AS_WORD =
  /^(pods?|po|events?|ev|configmaps?|cm|secrets?|persistentvolumeclaims?|pvc)\/(.+)$/;

/** `help get pods` means `get pods --help`, and what `-o name` prints can be asked for: `get pod/web`, `delete pod/web`. */
function plainWords(argv: readonly string[]): string[] {
  if (argv[0] === "help") return [...argv.slice(1), "--help"];
  return argv.flatMap((word, index) => {
    const isObject = ["get", "delete"].includes(argv[index - 1] ?? "");
    const object = isObject ? OBJECT_AS_WORD.exec(word) : null;
    return object === null ? [word] : object.slice(1);
  });
}
