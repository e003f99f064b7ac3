// An agent and a person at a terminal beside it, who types `agent …` as it is.

import { dirname } from "node:path";

import type { AgentProcess } from "../harness/agent-process.ts";
import { eventually } from "../harness/eventually.ts";
import { testWhenAvailable } from "../harness/skip-reasons.ts";
import {
  SIZE_80,
  Tmux,
  tmuxMissing,
  type Ended,
  type TmuxWindow,
  type WindowSize,
} from "../harness/tmux.ts";
import { getPods } from "./support-a-agent.ts";
import { openStage, type Stage, type StageAgent } from "./support-b-stage.ts";
import { agentFor } from "./support-n-streams.ts";

export const SIZE_200: WindowSize = { columns: 200, rows: 50 };

export interface TerminalStage extends Stage {
  /** Starts the agent that `agent …` speaks to, with these manifests by file name. */
  readonly start: (
    manifests: Readonly<Record<string, string | object>>,
    options?: StageAgent,
  ) => Promise<AgentProcess>;
  /** Runs a command line of `sh` in a window. */
  readonly window: (command: string, size?: WindowSize) => Promise<TmuxWindow>;
  /** The same, to its end. */
  readonly ended: (command: string, size?: WindowSize) => Promise<Ended>;
  readonly clipboard: () => Promise<string | undefined>;
}

/** One agent for a file of tests. */
export async function openTerminal(): Promise<TerminalStage> {
  const stage = await openStage();
  const missing = tmuxMissing();
  let tmux: Tmux | undefined;
  const server = (): Tmux => {
    if (tmux === undefined) throw new Error("the agent was not started");
    return tmux;
  };
  const window = async (command: string, size = SIZE_80): Promise<TmuxWindow> =>
    server().window(command, size);
  return {
    ...stage,
    e2e: missing === undefined ? stage.e2e : testWhenAvailable(missing),
    start: async (manifests, options) => {
      const agent = stage.agent("terminal", options);
      for (const [name, content] of Object.entries(manifests)) agent.writeManifest(name, content);
      await agent.startReady();
      const verbs = dirname(agentFor(stage.temp, agent));
      tmux = await Tmux.open(stage.temp, { PATH: `${verbs}:${process.env["PATH"] ?? ""}` });
      return agent;
    },
    window,
    ended: async (command, size) => (await window(command, size)).ended(),
    clipboard: async () => server().clipboard(),
  };
}

/** Until every container of these pods is ready. */
export async function untilReady(agent: AgentProcess, ...names: readonly string[]): Promise<void> {
  await eventually(
    `${names.join(", ")} run`,
    async () => {
      const pods = await getPods(agent);
      return names.every((name) => {
        const found = pods.find(({ metadata }) => metadata.name === name);
        const all = found?.status.containerStatuses ?? [];
        return all.length > 0 && all.every(({ ready }) => ready);
      });
    },
    { timeout: 90_000, explain: () => agent.logTail() },
  );
}

/**
 * A command line of `sh` whose end shows `code=N`, and that its terminal is as it was before. Ctrl-C ends the command and not
 * the shell.
 */
export function careful(command: string): string {
  return [
    "trap : INT",
    "before=$(stty -a)",
    command,
    'echo "code=$?"',
    '[ "$before" = "$(stty -a)" ] && echo as it was',
  ].join("\n");
}
