// How long a person waits for the command line: the compiled binary from its start to its end, beside an empty program that is
// compiled with the same flags.
// bun test/bench/start-times.ts [--runs 20]

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { FakeAgent } from "../component/cli/fake-agent.ts";
import { agentBinary } from "../harness/agent-process.ts";
import { output, run } from "../harness/run-command.ts";
import { aPod } from "../unit/cli/views.ts";
import { spread } from "./statistics.ts";

const PODS = 10;
/** The first ones read the binary from the disk. */
const WARM = 2;

async function measure(runs: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "agent-start-"));
  using agent = await FakeAgent.start(join(directory, "agent.sock"));
  agent.pods = Array.from({ length: PODS }, (_, n) => aPod({ name: `pod-${n}` }));
  const binary = agentBinary();
  const commands: Readonly<Record<string, readonly string[]>> = {
    "an empty program": [await emptyProgram(directory)],
    "agent --version": [binary, "--version"],
    "agent --help": [binary, "--help"],
    [`agent get pods (${PODS})`]: [binary, "get", "pods", "--socket", agent.socket],
    "agent __complete (a verb)": [binary, "__complete", "--", "des"],
  };
  const times = new Map<string, number[]>();
  // One after the other in each round, so that all meet the same machine.
  for (let round = -WARM; round < runs; round += 1)
    for (const [what, command] of Object.entries(commands)) {
      const start = performance.now();
      const { code, stderr } = await run(command);
      const ms = performance.now() - start;
      if (code !== 0) throw new Error(`${what} ended with ${code}: ${stderr}`);
      if (round >= 0) times.set(what, [...(times.get(what) ?? []), ms]);
    }
  rmSync(directory, { recursive: true });
  const load = readFileSync("/proc/loadavg", "utf8").split(" ")[0] ?? "";
  console.log(`n = ${runs}, in ms; load ${load}\n`);
  console.log("| what | median | quartiles (min–max) |\n| --- | --- | --- |");
  for (const [what, all] of times) {
    const { min, q1, median, q3, max } = spread(all);
    const shown = [median, q1, q3, min, max].map((ms) => ms.toFixed(1));
    console.log(`| ${what} | ${shown[0]} | ${shown[1]}–${shown[2]} (${shown[3]}–${shown[4]}) |`);
  }
}

async function emptyProgram(directory: string): Promise<string> {
  const [source, program] = [join(directory, "empty.ts"), join(directory, "empty")];
  writeFileSync(source, "export {};\n");
  const flags = ["--compile", "--splitting", "--minify", "--bytecode", "--format=esm"];
  const own = ["--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];
  const jit = ["--compile-jit-policy=100", source, "--outfile", program];
  await output([process.execPath, "build", ...flags, ...own, ...jit], 60_000);
  return program;
}

const at = process.argv.indexOf("--runs");
process.chdir(resolve(import.meta.dir, "../.."));
await measure(at === -1 ? 20 : Number(process.argv[at + 1]));
