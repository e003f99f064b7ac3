// Performs: `agent trust show` and `agent trust reset`: which keys may sign documents for this node.

import type { SigningKeyView, TrustView } from "../trust/trust-view.ts";
import type { NodeKeysView } from "../protocol/node-keys.ts";
import { CliError, UsageError } from "./exit-codes.ts";
import { printObject } from "./json-yaml-output.ts";
import { printable, tableText, type Row } from "./terminal-text.ts";
import { isConfirmed, type Terminal } from "./process-io.ts";
import type { VerbCall } from "./define-verb.ts";

const QUESTION = `This deletes the trust bundle and the version of the document, and accepts unsigned documents:
any client that can publish to the topics of this node can then run pods on it, until a key is in its trust directory.
Pods keep running. Type "yes" to continue: `;

/** The exit code. Throws CliError if the agent cannot be reached. */
export async function showTrust({ flags, terminal, connect }: VerbCall): Promise<0> {
  const { output } = flags<{ readonly output?: "json" | "yaml" }>();
  const client = await connect();
  const trust = await client.trust();
  if (output === undefined) printTrust(terminal, trust);
  else await printObject(terminal, trust, output);
  return 0;
}

/** The exit code: 1 = the answer was not yes. Throws CliError without a terminal to ask on, or if the agent refuses. */
export async function resetTrust({ flags, terminal, connect }: VerbCall): Promise<0 | 1> {
  const { yes = false } = flags<{ /** Without confirmation. */ readonly yes?: boolean }>();
  if (!yes && !terminal.isInteractive)
    throw new UsageError(
      "this resets which keys may sign documents, and there is no terminal to confirm it on: add --yes",
    );
  const client = await connect();
  // Before the question: without an agent there is nothing to confirm.
  await client.trust();
  if (!yes && !(await isConfirmed(terminal, QUESTION))) {
    terminal.err("nothing was reset\n");
    return 1;
  }
  const after = await client.changeTrust("reset");
  terminal.out("trust is reset; pods keep running\n");
  if (after.required)
    terminal.err(
      `Documents must still be signed: ${printable(after.why)}; remove that and reset again to accept unsigned documents\n`,
    );
  return 0;
}

/** The exit code. Throws CliError if the agent refuses. */
export async function rotateKey({ terminal, connect }: VerbCall): Promise<0> {
  const client = await connect();
  const { nodeKeys } = await client.changeTrust("rotate-key");
  if (nodeKeys === undefined) throw new CliError("this agent has no keys of its own");
  const { fingerprint, sealKey } = nodeKeys;
  terminal.out(`the node's key is ${printable(fingerprint)}, Secrets are sealed to ${printable(sealKey)}
The key before still opens what was sealed to it, until the next rotation: seal the Secrets of this node again.\n`);
  return 0;
}

function printTrust(terminal: Terminal, trust: TrustView): void {
  const { required, why, bundle, problems, nodeKeys } = trust;
  terminal.out(
    `${required ? "Documents must be signed" : "Unsigned documents are accepted"}: ${printable(why)}\n`,
  );
  if (bundle !== undefined) terminal.out(`${bundleLine(bundle)}\n`);
  const rows = keyRows(trust);
  if (rows.length > 0) {
    const titles = ["KEY", "ROLES", "NODES", "GROUPS", "FROM"];
    terminal.out(`\n${tableText(titles, rows, terminal)}`);
  }
  if (nodeKeys !== undefined) terminal.out(`\n${nodeKeyLine(nodeKeys)}\n`);
  for (const problem of problems) terminal.err(`Problem: ${printable(problem)}\n`);
}

function bundleLine({ version, notBefore }: NonNullable<TrustView["bundle"]>): string {
  const before =
    notBefore === undefined ? "" : `; documents issued before ${printable(notBefore)} are refused`;
  return `Trust bundle: version ${version}${before}`;
}

function keyRows({ rootKeys, bundle }: TrustView): readonly Row[] {
  // Until there is a bundle root keys sign everything.
  const roles = bundle === undefined ? "root,desired,rollout,command,release" : "root";
  const scope = bundle === undefined ? "*" : "-";
  const from = bundle === undefined ? "" : `bundle ${bundle.version}`;
  const roots = rootKeys.map(({ keyid, file, inForce }) =>
    inForce
      ? [keyid, roles, scope, scope, file ?? from]
      : [keyid, "replaced", "-", "-", file ?? from],
  );
  const keys = bundle?.keys ?? [];
  return [...roots, ...keys.map((key) => signingRow(key, from))];
}

function signingRow({ keyid, roles, nodes, groups }: SigningKeyView, from: string): Row {
  return [keyid, roles.join(), scopeText(nodes), scopeText(groups), from];
}

function nodeKeyLine({ fingerprint, sealKey, previousSealKey }: NodeKeysView): string {
  const before =
    previousSealKey === undefined ? "" : `, what was sealed to ${previousSealKey} is opened too`;
  return printable(`Key of this node: ${fingerprint}; Secrets are sealed to ${sealKey}${before}`);
}

/** An empty list is no node at all. */
function scopeText(names: readonly string[] | undefined): string {
  return names === undefined ? "*" : names.length === 0 ? "-" : names.join();
}
