// Performs: `agent fleet apply` and `diff`: composes, signs and publishes a document for a node or group, and follows how its
// nodes apply it; or shows what it would change.

import { printable } from "../../cli/terminal-text.ts";
import { targetName } from "./compose-document.ts";
import { changeLines } from "./diff.ts";
import { openFleet, type BrokerFlags, type FleetParts } from "../open-broker.ts";
import { prepareDocument, publishDocument, type DocumentFlags } from "./publish-document.ts";
import { readInput } from "../read-input.ts";
import { readSigner } from "../trust/signing-keys.ts";
import { readKnownKeys } from "../seal/known-keys.ts";
import { printOpened } from "../seal/opened.ts";
import { waitForNodes } from "./wait.ts";
import { type TargetFlags, chooseTarget, readTarget } from "./target.ts";

export interface ApplyFlags extends BrokerFlags, TargetFlags, DocumentFlags {
  readonly key?: readonly string[];
  readonly wait?: boolean;
  /** Ms. */
  readonly timeout: number;
  readonly dryRun?: boolean;
}

/** The exit code: 1 when a node did not become Healthy. Throws CliError. */
export async function apply(parts: FleetParts, flags: ApplyFlags): Promise<0 | 1> {
  const { terminal } = parts;
  const input = await readInput(flags.filename, terminal);
  const target = chooseTarget(input, flags);
  const signers = (flags.key ?? []).map(readSigner);
  await using fleet = await openFleet(parts, flags);
  const before = await readTarget(fleet, target, terminal);
  const order = { input, target, before, signers, random: parts.random, ...flags };
  const prepared = prepareDocument(order, terminal);
  const { generation, digest } = prepared.published;
  if (flags.dryRun === true) {
    for (const line of changeLines(before.retained, input)) terminal.out(`${printable(line)}\n`);
    terminal.out(`would be generation ${generation} of ${targetName(target)}, ${digest}\n`);
    return 0;
  }
  const { published } = prepared;
  await publishDocument(fleet, before, prepared);
  terminal.out(`generation ${generation} of ${targetName(target)} is published, ${digest}\n`);
  const names = before.nodes.map(({ name }) => name);
  const { timeout } = flags;
  const undisputed = before.rivals.watch(published);
  if (flags.wait !== true) {
    await undisputed;
    return 0;
  }
  const waiting = waitForNodes({ fleet, terminal, published, names, timeout });
  const [code] = await Promise.all([waiting, undisputed]);
  if (code !== 0 || prepared.document["sealed"] === undefined) return code;
  return printOpened({ fleet, terminal, published, names, known: readKnownKeys(flags.keys) });
}

export interface DiffFlags extends BrokerFlags, TargetFlags {
  readonly exitCode?: boolean;
}

/** The exit code: 1 for a difference with --exit-code. */
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
