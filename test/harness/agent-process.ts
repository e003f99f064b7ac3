// The compiled agent as a process: its own configuration, directories and socket, started and killed at will.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { stringify } from "yaml";

import { eventually, Hopeless } from "./eventually.ts";
import { run, type CommandResult } from "./run-command.ts";
import type { TempDirectory } from "./temp-directory.ts";
import { logTail, spawnDaemon } from "./daemon.ts";

const MACHINE = process.arch === "arm64" ? "linux-arm64" : "linux-x64";

/** The binary under test: `AGENT_BINARY`, else what ./build.sh built for this machine. */
export function agentBinary(): string {
  return process.env["AGENT_BINARY"] ?? resolve(import.meta.dir, `../../dist/agent-${MACHINE}`);
}

export interface AgentOptions {
  /** The runtime's socket, as `unix:///…`. */
  readonly endpoint: string;
  /** Parent cgroup of the pods. */
  readonly cgroupRoot?: string;
  /** Absent = the agent runs without MQTT. */
  readonly mqttUrl?: string;
  readonly nodeName?: string;
  readonly instance?: string;
  /** Name of its directory, when there is more than one agent. */
  readonly name?: string;
  /** Any further fields of the configuration; wins over the above. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Further fields below `mqtt`. */
  readonly mqtt?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

export interface AgentPaths {
  readonly directory: string;
  readonly config: string;
  readonly manifests: string;
  readonly state: string;
  readonly podLogs: string;
  /** Image archives; not made. */
  readonly images: string;
  readonly socket: string;
  readonly log: string;
}

/** One JSON line of the agent's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

export class AgentProcess {
  readonly paths: AgentPaths;
  readonly nodeName: string;
  readonly #temp: TempDirectory;
  readonly #env: Readonly<Record<string, string>>;
  #child: Bun.Subprocess | undefined;

  /** Makes directories and configuration; starts nothing. */
  constructor(temp: TempDirectory, options: AgentOptions) {
    this.#temp = temp;
    this.#env = options.env ?? {};
    this.nodeName = options.nodeName ?? "e2e";
    const directory = temp.directory(options.name ?? "agent");
    this.paths = {
      directory,
      config: join(directory, "agent.yaml"),
      manifests: join(directory, "manifests"),
      state: join(directory, "state"),
      podLogs: join(directory, "logs"),
      images: join(directory, "images"),
      socket: join(directory, "agent.sock"),
      log: join(directory, "agent.log"),
    };
    mkdirSync(this.paths.manifests, { recursive: true });
    this.configure(options);
  }

  /** Writes the configuration anew; it counts from the next start. */
  configure(options: AgentOptions): void {
    const config = {
      staticPodPath: this.paths.manifests,
      stateDir: this.paths.state,
      podLogsDir: this.paths.podLogs,
      imageArchivePath: this.paths.images,
      socket: this.paths.socket,
      containerRuntimeEndpoint: options.endpoint,
      imageServiceEndpoint: options.endpoint,
      instance: options.instance ?? "default",
      nodeName: this.nodeName,
      // The disk of a developer's machine may be nearly full.
      evictionHard: { "memory.available": "100Mi" },
      ...(options.cgroupRoot === undefined ? {} : { cgroupRoot: options.cgroupRoot }),
      ...(options.mqttUrl === undefined ? {} : { mqtt: { url: options.mqttUrl, ...options.mqtt } }),
      ...options.config,
    };
    writeFileSync(this.paths.config, stringify(config));
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null;
  }

  /** Starts the process and returns at once; `binary`: also a program that starts the agent in some surroundings. */
  start(binary = agentBinary()): void {
    this.#child = spawnDaemon([binary, "run", "--config", this.paths.config], {
      temp: this.#temp,
      logFile: this.paths.log,
      cwd: "/",
      env: {
        PATH: process.env["PATH"] ?? "",
        // No test delays a shutdown of the machine it runs on.
        DBUS_SYSTEM_BUS_ADDRESS: "unix:path=/nonexistent/bus",
        ...this.#env,
      },
    });
  }

  /** Starts and waits until /healthz says 200. */
  async startReady(timeout = 60_000): Promise<void> {
    this.start();
    await this.waitReady(timeout);
  }

  async waitReady(timeout = 60_000): Promise<void> {
    const health = async (): Promise<boolean> => {
      if (!this.running)
        throw new Hopeless(`the agent ended with ${this.#child?.exitCode}\n${this.logTail()}`);
      const response = await this.api("/healthz");
      if (response.status !== 200)
        throw new Error(`/healthz: ${response.status} ${await response.text()}`);
      return true;
    };
    await eventually("the agent is healthy", health, { timeout, explain: () => this.logTail() });
  }

  /** Signals, waits for the end, gives the exit code (128 + signal number when a signal ended it). */
  async kill(signal: NodeJS.Signals = "SIGTERM"): Promise<number> {
    const child = this.#child;
    if (child === undefined) return 0;
    child.kill(signal);
    return child.exited;
  }

  /** As if the last end of the process had been a clean one: nothing was in its hand (start guard). */
  forgetHands(): void {
    rmSync(join(this.paths.state, "in-hand"), { force: true });
  }

  /** Waits until the process has ended by itself. */
  async exited(): Promise<number> {
    return this.#child === undefined ? 0 : this.#child.exited;
  }

  async restart(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.kill(signal);
    await this.startReady();
  }

  /** A request to the local API, e.g. `/pods`. */
  async api(path: string): Promise<Response> {
    return fetch(`http://agent${path}`, {
      unix: this.paths.socket,
      signal: AbortSignal.timeout(30_000),
    });
  }

  /** Runs a verb of the same binary against this agent: `cli("get", "pods")`. */
  async cli(...args: readonly string[]): Promise<CommandResult> {
    return run([agentBinary(), ...args, "--socket", this.paths.socket], { timeout: 60_000 });
  }

  /** Temp name, then rename: the file appears whole. */
  writeManifest(name: string, content: string | object): void {
    const path = join(this.paths.manifests, name);
    const temp = join(dirname(path), `.${name}.tmp`);
    writeFileSync(temp, typeof content === "string" ? content : stringify(content));
    renameSync(temp, path);
  }

  removeManifest(name: string): void {
    rmSync(join(this.paths.manifests, name), { force: true });
  }

  /** Every JSON line it has logged so far; lines that are no JSON appear as `{msg}`. */
  logLines(): readonly LogLine[] {
    if (!existsSync(this.paths.log)) return [];
    return readFileSync(this.paths.log, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map(parseLogLine);
  }

  logTail(lines = 30): string {
    return logTail("the agent", this.paths.log, lines);
  }
}

function parseLogLine(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return { msg: line }; // A crash prints no JSON; the text is what matters then.
  }
}
