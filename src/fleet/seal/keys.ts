// Performs: `agent fleet keys`: lists the keys that nodes publish, and accepts those that a person has compared.

import { CliError } from "../../cli/exit-codes.ts";
import { printable, tableText } from "../../cli/terminal-text.ts";
import { verifyEd25519 } from "../../host/crypto/ed25519.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { fingerprint } from "../../protocol/node-keys.ts";
import { knownNodes, subscribeNodes } from "../known-nodes.ts";
import { openFleet, type BrokerFlags, type FleetParts } from "../open-broker.ts";
import { judgeNodeKeys, type NodeKeyState } from "./judge-node-keys.ts";
import { readKnownKeys, writeKnownKeys } from "./known-keys.ts";

interface KeysFlags extends BrokerFlags {
  readonly keys: string;
  /** Names of nodes. */
  readonly accept?: readonly string[];
  readonly acceptNew?: boolean;
}

/** The exit code. Throws CliError for a node that has no key to accept. */
export async function keys(parts: FleetParts, flags: KeysFlags): Promise<0> {
  const { terminal } = parts;
  await using fleet = await openFleet(parts, flags);
  await subscribeNodes(fleet, ["state"], terminal);
  const known = readKnownKeys(flags.keys);
  const judged = knownNodes(fleet).map((node) => ({
    name: node.name,
    state: judgeNodeKeys(node, known, verifyEd25519),
  }));
  const accepted = judged.filter(({ name, state }) => isAccepted(name, state, flags));
  const missing = (flags.accept ?? []).find((name) => !accepted.some((one) => one.name === name));
  if (missing !== undefined)
    throw new CliError(
      `${printable(missing)} has published no keys that it signed; nothing was accepted`,
    );
  const added = accepted.flatMap(({ name, state }) =>
    "keys" in state ? [[name, state.keys.sign] as const] : [],
  );
  if (added.length > 0) writeKnownKeys(flags.keys, new Map([...known, ...added]));
  const names = new Set(added.map(([name]) => name));
  const rows = judged.map(({ name, state }) => [
    name,
    names.has(name) ? "Accepted" : WORDS[state.type],
    "keys" in state ? fingerprint(state.keys.sign, sha256) : "-",
  ]);
  terminal.out(tableText(["NODE", "KEY", "FINGERPRINT"], rows, terminal));
  return 0;
}

const WORDS: Readonly<Record<NodeKeyState["type"], string>> = {
  Known: "Accepted",
  Rotated: "Rotated",
  New: "New",
  Changed: "Changed",
  None: "None",
  Broken: "Broken",
};

function isAccepted(
  name: string,
  state: NodeKeyState,
  { accept = [], acceptNew }: KeysFlags,
): boolean {
  if (!("keys" in state)) return false;
  return accept.includes(name) || (acceptNew === true && state.type === "New");
}
