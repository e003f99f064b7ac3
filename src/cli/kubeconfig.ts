// Performs: `agent kubeconfig`: prints how kubectl reaches this node, and lists and revokes its users.

import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { errorCode } from "../lib/errors.ts";
import { syncDirectoryOf } from "../lib/files/system-durable-file.ts";
import { CliError, UsageError } from "./exit-codes.ts";
import type { VerbCall } from "./define-verb.ts";
import { printObject } from "./json-yaml-output.ts";
import { withProgress } from "./terminal/progress-line.ts";
import { printable, tableText } from "./terminal-text.ts";

interface KubeconfigFlags {
  readonly server?: string;
  readonly user?: string;
  readonly readOnly?: boolean;
  readonly token?: boolean;
  readonly output: string;
  readonly list?: boolean;
  readonly revoke?: string;
  readonly off?: boolean;
}

const STANDARD_OUTPUT = "-";
/** It holds a key. */
const MODE = 0o600;

/** The exit code. Throws CliError if the agent cannot be reached, or refuses. */
export async function makeKubeconfig(call: VerbCall): Promise<0> {
  const flags = call.flags<KubeconfigFlags>();
  const { list = false, off = false, revoke } = flags;
  const others = [list, off, revoke !== undefined].filter(Boolean).length;
  const isMaking = [flags.server, flags.user, flags.readOnly, flags.token].some(
    (flag) => flag !== undefined,
  );
  if (others > 1 || (others === 1 && isMaking))
    throw new UsageError(
      "--list, --revoke and --off stand alone: give one of them, and no other flag",
    );
  if (list) return listUsers(call);
  const { terminal } = call;
  const client = await call.connect();
  if (revoke !== undefined) {
    await client.revokeUser(revoke);
    terminal.out(`user ${printable(revoke)} is revoked\n`);
    return 0;
  }
  if (off) {
    await client.closeApi();
    terminal.out("the API over TLS is closed; its users stay\n");
    return 0;
  }
  return printKubeconfig(call, flags);
}

async function printKubeconfig(
  { terminal, connect }: VerbCall,
  flags: KubeconfigFlags,
): Promise<0> {
  const { readOnly = false, token = false, server, output } = flags;
  const user = flags.user ?? (readOnly ? "viewer" : "admin");
  // Before a user is made whose key would be lost.
  const file = output === STANDARD_OUTPUT ? undefined : newFile(output);
  try {
    const client = await connect();
    const order = {
      user,
      access: readOnly ? "ReadOnly" : "Full",
      ...(token ? { credential: "token" } : {}),
      ...(server === undefined ? {} : { server }),
    };
    const text = (seconds: number): string => `the agent makes keys (${seconds} s)`;
    const made = await withProgress(terminal, text, () => client.kubeconfig(order));
    for (const note of made.notes) terminal.err(`${printable(note)}\n`);
    const into =
      file === undefined ? terminal : { ...terminal, isTerminal: false, out: file.write };
    await printObject(into, made.config, "yaml");
  } catch (error) {
    file?.discard();
    throw error;
  }
  file?.close();
  if (file !== undefined)
    terminal.err(
      `written to ${printable(output)}: kubectl --kubeconfig ${printable(output)} get pods\n`,
    );
  return 0;
}

interface NewFile {
  readonly write: (text: string) => void;
  readonly close: () => void;
  readonly discard: () => void;
}

/** An existing one may hold other clusters. */
function newFile(path: string): NewFile {
  const fd = openNew(path);
  return {
    write: (text) => void writeSync(fd, text),
    close: () => {
      fsyncSync(fd);
      closeSync(fd);
      syncDirectoryOf(path);
    },
    discard: () => {
      closeSync(fd);
      rmSync(path, { force: true });
    },
  };
}

function openNew(path: string): number {
  try {
    return openSync(path, "wx", MODE);
  } catch (error) {
    const code = errorCode(error);
    if (code === "EEXIST")
      throw new CliError(`${path} exists and is left as it is: name a new file with -o`, error);
    throw new CliError(`cannot write ${path}: ${code}`, error);
  }
}

async function listUsers({ terminal, connect }: VerbCall): Promise<0> {
  const client = await connect();
  const { listen, items } = await client.users();
  terminal.err(
    listen === undefined
      ? "the API over TLS is closed; agent kubeconfig opens it\n"
      : `the API is open on ${printable(listen)}\n`,
  );
  if (items.length === 0) return 0;
  const rows = items.map(({ user, access, credential, notAfter = "-" }) =>
    [user, access, credential, notAfter].map(printable),
  );
  terminal.out(tableText(["USER", "ACCESS", "CREDENTIAL", "ENDS"], rows, terminal));
  return 0;
}
