// Performs: `agent fleet diff`: what `apply` would change.

import { printable } from "../../cli/terminal-text.ts";
import { changeLines, chooseTarget, readTarget, type TargetFlags } from "./apply.ts";
import { targetName } from "./compose-document.ts";
import { openFleet, type BrokerFlags, type FleetParts } from "../open-broker.ts";
import { readInput } from "../read-input.ts";

export interface DiffFlags extends BrokerFlags, TargetFlags {
  readonly exitCode?: boolean;
}

/** The exit code: 1 for a difference when that was asked for. */
export async function diff(parts: FleetParts, flags: DiffFlags): Promise<0 | 1> {
  const { terminal } = parts;
  const input = await readInput(flags.filename, terminal);
  const target = chooseTarget(input, flags);
  await using fleet = await openFleet(parts, flags);
  const { retained } = await readTarget(fleet, target, terminal);
  const lines = changeLines(retained, input);
  const version = retained === undefined ? "no document" : `generation ${retained.generation}`;
  terminal.err(`${targetName(target)} has ${version} on the broker\n`);
  for (const line of lines) terminal.out(`${printable(line)}\n`);
  if (lines.length === 0) terminal.err("nothing would change\n");
  return flags.exitCode === true && lines.length > 0 ? 1 : 0;
}
