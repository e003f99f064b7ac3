// Performs: `agent fleet keygen`: the keys of a new fleet, in new files that only their owner reads, and its first TrustBundle.

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { CliError, invalidInput } from "../../cli/exit-codes.ts";
import type { Terminal } from "../../cli/process-io.ts";
import { errorCode, messageOf } from "../../lib/errors.ts";
import { writeNewDurably } from "../../lib/files/system-durable-file.ts";
import { writtenBundle } from "./bundle-file.ts";
import { makeKeyPair, signerOf, signMessage } from "./signing-keys.ts";
import { withoutUndefined } from "../../lib/json.ts";

export interface KeygenFlags {
  readonly dir: string;
  readonly roles: readonly string[];
  readonly nodeGlobs?: readonly string[];
  readonly groups?: readonly string[];
}

interface NewFile {
  readonly path: string;
  readonly content: string | Uint8Array;
  readonly mode: number;
}

const PRIVATE = 0o600;
const PUBLIC = 0o644;

export function keygen(terminal: Terminal, { dir, roles, nodeGlobs, groups }: KeygenFlags): 0 {
  const path = (name: string): string => join(dir, name);
  const root = makeKeyPair();
  const signing = makeKeyPair();
  const scope = {
    ...withoutUndefined({ nodes: nodeGlobs, groups }),
  };
  const written = {
    root: [root.pub.toBase64()],
    keys: [{ pub: signing.pub.toBase64(), roles, ...scope }],
  };
  const bundle = writtenBundle(written, { version: 1, keyOf: () => undefined });
  if (!bundle.ok) throw invalidInput("the signing key", bundle.errors);
  const signers = [signerOf(path("root.pem"), root.privatePem)];
  const trust = signMessage("trust", bundle.value.payload, signers);
  writeNew(dir, [
    { path: path("root.pem"), content: root.privatePem, mode: PRIVATE },
    { path: path("root.pub"), content: root.publicPem, mode: PUBLIC },
    { path: path("signing.pem"), content: signing.privatePem, mode: PRIVATE },
    { path: path("signing.pub"), content: signing.publicPem, mode: PUBLIC },
    { path: path("trust.json"), content: trust, mode: PUBLIC },
  ]);
  terminal.out(
    [
      `root key ${root.keyid}: ${path("root.pem")}, ${path("root.pub")}`,
      `signing key ${signing.keyid}: ${path("signing.pem")}, ${path("signing.pub")}`,
      `first TrustBundle (version 1): ${path("trust.json")}`,
      "",
      `Take ${path("root.pem")} offline now: it is needed only to change which keys may sign.`,
      `Copy ${path("root.pub")} into /etc/agent/trust.d of every node; from then on the node accepts only signed documents.`,
      `Then: agent fleet trust publish -f ${path("trust.json")}`,
      `and sign with --key ${path("signing.pem")}.`,
      "",
    ].join("\n"),
  );
  return 0;
}

/** Writes all files or none; an existing key is never overwritten. */
function writeNew(directory: string, files: readonly NewFile[]): void {
  const there = files.find(({ path }) => existsSync(path));
  if (there !== undefined)
    throw new CliError(
      `${there.path} exists already; keys are never overwritten, choose another --dir`,
    );
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    for (const { path, content, mode } of files) writeNewDurably(path, content, mode);
  } catch (thrown) {
    const code = errorCode(thrown);
    const why = code === "" ? messageOf(thrown) : code;
    throw new CliError(`cannot write to ${directory}: ${why}`, thrown);
  }
}
