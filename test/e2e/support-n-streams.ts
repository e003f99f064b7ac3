// What the tests of exec, attach, port-forward and cp stand on: an agent with a pod to work in, a terminal, a big file.

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, expect } from "bun:test";

import { agentBinary, type AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import type { TempDirectory } from "../harness/temp-directory.ts";
import { getPod } from "./support-a-agent.ts";
import { Stage } from "./support-a-stage.ts";

/** `web` has a server and tools, `shell` a terminal of its own; both in one pod. */
export const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: "main",
        image: "local/busybox:1",
        command: [
          "sh",
          "-c",
          "mkdir -p /www /work; echo hello > /www/index.html; httpd -p 8080 -h /www; exec sleep 100000",
        ],
        ports: [{ name: "http", containerPort: 8080 }],
      },
      { name: "shell", image: "local/busybox:1", stdin: true, tty: true, command: ["sh"] },
    ],
  },
};

/** An agent with the pod, and a big file, for the streams of any client. */
export class StreamsStage {
  readonly stage: Stage;
  #agent: AgentProcess | undefined;
  #file: { readonly path: string; readonly sum: string } | undefined;

  private constructor(stage: Stage) {
    this.stage = stage;
  }

  /** Everything begins before the first test of the file, and ends after the last one. */
  static async open(): Promise<StreamsStage> {
    const streams = new StreamsStage(await Stage.open());
    beforeAll(() => streams.#begin(), 180_000);
    afterAll(() => streams.stage.close(), 180_000);
    return streams;
  }

  get agent(): AgentProcess {
    if (this.#agent === undefined) throw new Error("the agent was not started");
    return this.#agent;
  }

  /** 100 MB of random bytes, and what sha256sum prints for them. */
  get file(): { readonly path: string; readonly sum: string } {
    if (this.#file === undefined) throw new Error("the file was not written");
    return this.#file;
  }

  async #begin(): Promise<void> {
    if (!this.stage.available) return;
    const agent = this.stage.agent({ name: "main" });
    this.#agent = agent;
    await agent.startReady();
    agent.writeManifest("web.yaml", POD);
    const isRunning = async (): Promise<boolean> =>
      (await getPod(agent, "web")).status.phase === "Running";
    const explain = { timeout: 60_000, explain: () => agent.logTail() };
    await eventually("web runs", isRunning, explain);
    const path = join(this.stage.temp.directory("files"), "random");
    this.#file = { path, sum: randomFile(path, MB_100) };
  }
}

/** The agent's own binary with its socket, as the first word of a command line. */
export function agentFor(temp: TempDirectory, agent: AgentProcess): string {
  const path = join(temp.directory("verbs"), "agent");
  writeFileSync(
    path,
    `#!/bin/sh\nexport AGENT_SOCKET=${agent.paths.socket}\nexec ${agentBinary()} "$@"\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

/** A command in a terminal of its own. */
export class InTerminal {
  readonly child: Bun.Subprocess;
  #screen = "";
  #wake: (() => void)[] = [];

  constructor(command: readonly string[], size = { cols: 80, rows: 24 }) {
    this.child = Bun.spawn([...command], {
      env: { ...process.env, TERM: "xterm" },
      terminal: {
        ...size,
        data: (_terminal: unknown, data: Uint8Array) => {
          this.#screen += new TextDecoder().decode(data);
          for (const wake of this.#wake.splice(0)) wake();
        },
      },
    });
    void this.child.exited.then(() => {
      for (const wake of this.#wake.splice(0)) wake();
    });
  }

  get screen(): string {
    return this.#screen;
  }

  type(text: string): void {
    this.child.terminal?.write(text);
  }

  resize(cols: number, rows: number): void {
    this.child.terminal?.resize(cols, rows);
  }

  /** Until the terminal shows this. */
  async shows(text: string | RegExp): Promise<void> {
    while (!(typeof text === "string" ? this.#screen.includes(text) : text.test(this.#screen))) {
      if (this.child.exitCode !== null)
        throw new Error(`it ended with ${this.child.exitCode}: ${JSON.stringify(this.#screen)}`);
      await new Promise<void>((resolve) => void this.#wake.push(resolve));
    }
  }
}

const MB_100 = 100 * 1024 * 1024;

/** A file of random bytes, and the SHA-256 that sha256sum prints for it. */
export function randomFile(path: string, size: number): string {
  const hasher = new Bun.CryptoHasher("sha256");
  const parts: Uint8Array[] = [];
  for (let left = size; left > 0; left -= 65_536) {
    const part = crypto.getRandomValues(new Uint8Array(Math.min(left, 65_536)));
    hasher.update(part);
    parts.push(part);
  }
  writeFileSync(path, Buffer.concat(parts));
  return hasher.digest("hex");
}

/** How a shell command ends, with its whole output. */
export async function shell(
  script: string,
  options: { readonly env?: Record<string, string> } = {},
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const child = Bun.spawn(["bash", "-c", script], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...options.env },
  });
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

type Run = (script: string) => Promise<{ readonly code: number; readonly stdout: string }>;

/** 100 MB into a command and back, with the exit code. `client`: the first word of its command lines. */
export async function expectWholeBytes(
  client: string,
  { path, sum }: StreamsStage["file"],
  run: Run = shell,
): Promise<void> {
  const up = await run(`${client} exec -i web -c main -- sh -c 'sha256sum; exit 5' < ${path}`);
  expect([up.code, up.stdout]).toEqual([5, `${sum}  -\n`]);
  const echo = await run(`${client} exec -i web -c main -- cat < ${path} | sha256sum`);
  expect(echo.stdout).toBe(`${sum}  -\n`);
}

export async function expectTenCommands(client: string, run: Run = shell): Promise<void> {
  const one = (index: number): ReturnType<Run> =>
    run(`seq ${index} 20000 | ${client} exec -i web -c main -- sh -c 'wc -l; exit ${index}'`);
  const all = await Promise.all(Array.from({ length: 10 }, (_, index) => one(index)));
  expect(all.map(({ code, stdout }) => [code, stdout])).toEqual(
    all.map((_, index) => [index, `${20_001 - index}\n`]),
  );
}

/** To the web server of the pod. */
export async function expectHundredConnections(port: number): Promise<void> {
  const all = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const response = await fetch(`http://127.0.0.1:${port}/`, { keepalive: false });
      return response.text();
    }),
  );
  expect(all).toEqual(all.map(() => "hello\n"));
}

/** The processes of the container. */
export async function processes(client: string): Promise<string> {
  return (await shell(`${client} exec web -c main -- ps`)).stdout;
}

/** A shell whose terminal changes its size, a command that Ctrl-C ends, and the exit code of the shell. */
export async function expectTerminal(client: string): Promise<void> {
  const terminal = new InTerminal([client, "exec", "-it", "web", "-c", "main", "--", "sh"]);
  await terminal.shows("/ #");
  terminal.type("stty size; echo size\r");
  await terminal.shows(/24 80\r\nsize\r\n/);
  terminal.resize(101, 33);
  terminal.type("sleep 0.5; stty size\r");
  await terminal.shows("33 101");
  terminal.type("printf '\\033[1mbold'\r");
  await terminal.shows("\u001b[1mbold");
  terminal.type("sleep 4711\r");
  await eventually("sleep runs", async () => (await processes(client)).includes("sleep 4711"));
  terminal.type("\u0003");
  terminal.type("echo inter''rupted\r");
  await terminal.shows("interrupted");
  terminal.type("exit 7\r");
  expect(await terminal.child.exited).toBe(7);
  expect(terminal.screen).toContain("command terminated with exit code 7");
}

/** Joins the shell that the container runs, and goes away as one whose terminal was closed. */
export async function expectAttached(client: string, streams: StreamsStage): Promise<void> {
  const terminal = new InTerminal([client, "attach", "-it", "web", "-c", "shell"]);
  await terminal.shows("If you don't see a command prompt, try pressing enter.");
  terminal.type("echo atta''ched\r");
  await terminal.shows("attached");
  terminal.child.kill("SIGKILL");
  await terminal.child.exited;
  expect((await getPod(streams.agent, "web")).status.phase).toBe("Running");
}
