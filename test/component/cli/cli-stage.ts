// What each test of a verb begins with: a fake agent on a socket, and a terminal whose environment names it.

import { afterEach, beforeEach } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCli } from "../../../src/cli/program.ts";
import type { AgentModule } from "../../../src/cli/define-verb.ts";
import { FakeAgent } from "./fake-agent.ts";
import { FakeTerminal } from "./fake-terminal.ts";

export interface CliStage {
  readonly directory: string;
  readonly agent: FakeAgent;
  readonly terminal: FakeTerminal;
  /** Runs `agent <command>`; the exit code. */
  readonly run: (command: string, loadAgent?: () => Promise<AgentModule>) => Promise<number>;
  /** The path of a new file in the directory. */
  readonly file: (name: string, text: string) => string;
}

/** A new one for each test of the file; `then` prepares it further. */
export function eachOnCliStage(then: (stage: CliStage) => void): void {
  let stage: CliStage;
  beforeEach(async () => {
    stage = await newStage();
    then(stage);
  });
  afterEach(() => {
    stage.agent[Symbol.dispose]();
    rmSync(stage.directory, { recursive: true });
  });
}

async function newStage(): Promise<CliStage> {
  const directory = mkdtempSync(join(tmpdir(), "agent-cli-"));
  const agent = await FakeAgent.start(join(directory, "agent.sock"));
  const terminal = new FakeTerminal();
  terminal.environment = { AGENT_SOCKET: agent.socket };
  return {
    directory,
    agent,
    terminal,
    run: (command, loadAgent) => runOn(terminal, command, loadAgent),
    file: (name, text) => {
      const path = join(directory, name);
      writeFileSync(path, text);
      return path;
    },
  };
}

/** Runs `agent <command>` on a terminal; the exit code. */
export function runOn(
  terminal: FakeTerminal,
  command: string,
  loadAgent = noAgent,
): Promise<number> {
  const argv = command.split(" ").filter((word) => word !== "");
  return runCli({ argv, version: "1.2.3", terminal, loadAgent });
}

function noAgent(): Promise<AgentModule> {
  return Promise.reject(new Error("the agent was loaded"));
}
