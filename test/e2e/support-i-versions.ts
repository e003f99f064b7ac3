// Versions of the agent for the tests of its own update, and the supervisor that starts the launcher as systemd would.

import { chmodSync, copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { output } from "../harness/run-command.ts";
import type { TempDirectory } from "../harness/temp-directory.ts";

const ROOT = resolve(import.meta.dir, "../..");
const PLATFORM = process.arch === "arm64" ? "linux-arm64" : "linux-x64";
/** As systemd's RestartSec, but sooner. */
const RESTART_MS = 100;

/** The same source as another version: the real agent. */
export async function secondVersion(temp: TempDirectory, version: string): Promise<string> {
  const directory = temp.directory("second");
  const binary = join(directory, "agent");
  await compile(join(ROOT, "src/main.ts"), binary, [
    "--splitting",
    "--format=esm",
    `--conditions=${PLATFORM}`,
    "--define",
    `AGENT_VERSION=${JSON.stringify(version)}`,
  ]);
  return binary;
}

/** A real program that is a bad version: it says its version, and passes its self-test or not. */
const BAD = `
const mode = "@@MODE........................@@".slice(2, -2).trim();
const version = "0.1.9+" + mode;
const verb = process.argv[2];
if (verb === "version") console.log("agent " + version);
else if (verb === "self-test") {
  if (mode === "unmigratable") {
    console.log(JSON.stringify({ error: "it cannot open the database: table pods already exists" }));
    process.exit(1);
  }
  console.log(JSON.stringify({ version }));
} else if (mode === "hangs") setInterval(() => undefined, 1000);
else process.exit(3);
`;
const MARK = "@@MODE........................@@";

export type Badness = "crashes" | "hangs" | "unmigratable";

export interface BadVersions {
  readonly path: (mode: Badness) => string;
}

/** One compilation; the copies differ in one word of it. */
export async function badVersions(temp: TempDirectory): Promise<BadVersions> {
  const directory = temp.directory("bad");
  const source = join(directory, "bad.ts");
  const binary = join(directory, "bad");
  writeFileSync(source, BAD);
  await compile(source, binary, []);
  const bytes = readFileSync(binary);
  return {
    path: (mode) => {
      const copy = Buffer.from(bytes);
      for (let at = copy.indexOf(MARK); at >= 0; at = copy.indexOf(MARK, at + 1))
        copy.write(`@@${mode.padEnd(MARK.length - 4)}@@`, at, "latin1");
      const path = join(directory, mode);
      writeFileSync(path, copy);
      chmodSync(path, 0o755);
      return path;
    },
  };
}

async function compile(source: string, binary: string, flags: readonly string[]): Promise<void> {
  await output(
    [
      process.execPath,
      "build",
      "--compile",
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
      ...flags,
      source,
      "--outfile",
      binary,
    ],
    120_000,
  );
}

/** Starts the launcher, and again whenever the agent has ended, until it is stopped. */
export class Supervisor {
  readonly #agent: AgentProcess;
  readonly #launcher: string;
  #stopped = false;
  #done: Promise<void> | undefined;
  starts = 0;

  constructor(agent: AgentProcess) {
    const { directory, state } = agent.paths;
    this.#agent = agent;
    this.#launcher = join(directory, "agent-launch");
    // As a package installs it: a file of its own that the package manager may replace.
    const installed = join(directory, "installed");
    copyFileSync(agentBinary(), installed);
    const text = readFileSync(join(ROOT, "src/self-update/agent-launch.sh"), "utf8")
      .replaceAll("@BINARY@", installed)
      .replaceAll("@STATE@", state);
    writeFileSync(this.#launcher, text, { mode: 0o755 });
  }

  start(): void {
    this.#stopped = false;
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#agent.kill();
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.starts += 1;
      this.#agent.start(this.#launcher);
      await this.#agent.exited();
      await Bun.sleep(RESTART_MS);
    }
  }
}
