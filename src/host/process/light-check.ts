// Performs: `agent fsck --light` in a process of its own, which has the lowest priority: neither a damaged file nor a slow card
// holds up the agent.

import type { Clock } from "../../lib/clock.ts";
import { runPrograms } from "../run-program.ts";
import { configWords, ownCommand } from "./own-program.ts";

/** Resolves to the report as JSON. Rejects with AgentError `NoAnswer` after ten minutes. */
export type RunLightCheck = (signal: AbortSignal) => Promise<string>;

const TIMEOUT_MS = 600_000;
const ANSWER_BYTES = 1024 * 1024;

export function lightChecks(clock: Clock): RunLightCheck {
  const runProgram = runPrograms(clock);
  return async (signal) => {
    const [path, ...args] = ownCommand("fsck", "--light", "--output", "json", ...configWords());
    const { PATH = "", AGENT_CONFIG } = process.env;
    const call = {
      path,
      args,
      env: { PATH, ...(AGENT_CONFIG === undefined ? {} : { AGENT_CONFIG }) },
      stdin: "",
      timeoutMs: TIMEOUT_MS,
      maxBytes: ANSWER_BYTES,
    };
    return (await runProgram(call, signal)).stdout;
  };
}
