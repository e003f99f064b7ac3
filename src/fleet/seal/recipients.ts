// Performs: the keys to which Secrets for a target are sealed: of each of its nodes, as an operator has accepted them.

import { CliError } from "../../cli/exit-codes.ts";
import { printable } from "../../cli/terminal-text.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { verifyEd25519 } from "../../host/crypto/ed25519.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { fingerprint } from "../../protocol/node-keys.ts";
import type { KnownNode } from "../known-nodes.ts";
import { judgeNodeKeys, keyProblem } from "./judge-node-keys.ts";
import { readKnownKeys, writeKnownKeys } from "./known-keys.ts";

/** Raw X25519 public keys. Throws CliError that names each node whose key is missing, new or another one. */
export function recipientsOf(
  nodes: readonly KnownNode[],
  keyFile: string,
  terminal: Terminal,
): readonly Uint8Array[] {
  if (nodes.length === 0)
    throw new CliError("no node is known to seal to; a node is known once it has connected");
  const known = readKnownKeys(keyFile);
  const judged = nodes.map((node) => ({
    name: node.name,
    state: judgeNodeKeys(node, known, verifyEd25519),
  }));
  const problems = judged.flatMap(({ name, state }) => keyProblem(name, state) ?? []);
  if (problems.length > 0)
    throw new CliError(`nothing was sealed:\n  ${problems.map(printable).join("\n  ")}`);
  const rotated = judged.flatMap(({ name, state }) =>
    state.type === "Rotated" ? [[name, state.keys.sign] as const] : [],
  );
  if (rotated.length > 0) writeKnownKeys(keyFile, new Map([...known, ...rotated]));
  for (const [name, key] of rotated)
    terminal.err(
      `${printable(name)} has a new key, for which the one before vouches: ${fingerprint(key, sha256)}\n`,
    );
  return judged.flatMap(({ state }) => ("keys" in state ? [state.keys.seal] : []));
}
