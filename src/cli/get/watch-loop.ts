// Performs: `-w`: looks at the local socket once a second until Ctrl-C, and waits for an agent that is away.

import { messageOf } from "../../lib/errors.ts";
import type { Terminal } from "../terminal.ts";

const POLL_MS = 1000;

/** `look` asks the agent and prints what is new; it throws when the agent does not answer, at the start to the caller. */
export async function watchLoop(
  terminal: Terminal,
  look: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const interrupted = terminal.interrupted();
  await look(interrupted);
  let silent = false;
  while (!interrupted.aborted) {
    await terminal.clock.sleep(POLL_MS, interrupted);
    if (interrupted.aborted) return;
    try {
      await look(interrupted);
      silent = false;
    } catch (thrown) {
      if (interrupted.aborted) return;
      if (!silent) terminal.err(`${messageOf(thrown)}; waiting for it\n`);
      silent = true;
    }
  }
}
