// Performs: finds the socket of the running agent.

import { findSocket, type ConnectionFlags } from "./load-config.ts";
import { LocalClient } from "./local-client.ts";
import type { Terminal } from "./process-io.ts";

/** Throws UsageError for a configuration that cannot be read. */
export async function connectAgent(
  flags: ConnectionFlags,
  { clock, environment }: Pick<Terminal, "clock" | "environment">,
): Promise<LocalClient> {
  return new LocalClient({ socket: await findSocket(flags, environment), clock });
}
