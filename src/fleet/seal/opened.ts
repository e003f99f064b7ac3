// Performs: prints which nodes have opened the sealed Secrets of a document, as each of them has signed it.

import { bytesOfBase64 } from "../../api/validation/base64.ts";
import { printable } from "../../cli/terminal-text.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { verifyEd25519 } from "../../host/crypto/ed25519.ts";
import { openedMessage } from "../../protocol/node-keys.ts";
import type { Published } from "../document/apply-progress.ts";
import { knownNode } from "../known-nodes.ts";
import type { Fleet } from "../open-broker.ts";
import { judgeNodeKeys, type KnownKeys } from "./judge-node-keys.ts";

interface OpenedReport {
  readonly fleet: Fleet;
  readonly terminal: Terminal;
  readonly published: Published;
  readonly names: readonly string[];
  readonly known: KnownKeys;
}

/** The exit code: 1 when a report that a node has opened them is missing or not signed by its accepted key. */
export function printOpened({ names, terminal, ...facts }: OpenedReport): 0 | 1 {
  const unproven = names.filter((name) => {
    const count = openedBy(name, facts);
    if (count !== undefined)
      terminal.out(`${name}: has opened ${count} sealed Secrets, and signed that\n`);
    return count === undefined;
  });
  for (const name of unproven)
    terminal.err(
      `${printable(name)}: has not signed that it has opened the sealed Secrets; who owns the broker can have written its report\n`,
    );
  return unproven.length === 0 ? 0 : 1;
}

/** undefined = not proven. */
function openedBy(
  name: string,
  { fleet, published, known }: Omit<OpenedReport, "names" | "terminal">,
): number | undefined {
  const node = knownNode(fleet, name);
  const keys = judgeNodeKeys(node, known, verifyEd25519);
  const ack = node.report?.desired.find(
    ({ digest, source }) => digest === published.digest && source === published.source,
  );
  if (ack?.opened === undefined || keys.type !== "Known") return undefined;
  const { secrets, sig } = ack.opened;
  const message = openedMessage({ node: name, ...published, secrets });
  const signature = bytesOfBase64(sig) ?? new Uint8Array();
  return verifyEd25519(keys.keys.sign, message, signature) ? secrets.length : undefined;
}
