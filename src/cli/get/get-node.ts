// Performs: `agent get node`: the machine itself.

import type { LocalClient } from "../local-client.ts";
import { nodeHeader, nodeRow } from "./node-table.ts";
import { objectName, printObject, type OutputFormat } from "../output.ts";
import { printable } from "../printable.ts";
import { columnWidths, formatRows } from "../table.ts";
import type { Terminal } from "../terminal.ts";

export interface GetNodeOptions {
  readonly client: LocalClient;
  readonly terminal: Terminal;
  readonly output: OutputFormat | undefined;
}

/** The exit code; throws CliError when the agent cannot be reached. */
export async function getNode({ client, terminal, output }: GetNodeOptions): Promise<0> {
  const node = await client.node();
  if (output === "json" || output === "yaml") {
    await printObject(terminal, node, output);
    return 0;
  }
  if (output === "name") {
    terminal.out(`${printable(objectName(node))}\n`);
    return 0;
  }
  const wide = output === "wide";
  const rows = [nodeHeader(wide), nodeRow(node, wide, terminal.clock.now())];
  terminal.out(formatRows(rows, columnWidths(rows)));
  return 0;
}
