// Performs: `agent apply -f`: server-side apply of every object. kubectl: apply --server-side

import { UsageError } from "../exit-codes.ts";
import { printObject } from "../json-yaml-output.ts";
import type { KubeReply, LocalClient } from "../local-client.ts";
import { withProgress } from "../terminal/progress-line.ts";
import { printable, printableText } from "../terminal-text.ts";
import type { VerbCall } from "../define-verb.ts";
import { readObjects, type ManifestObject } from "./read-manifests.ts";
import { isFailure, statusText } from "./status-text.ts";
import { objectPath, shownName } from "./written-kinds.ts";

export interface ApplyFlags {
  readonly filename?: readonly string[];
  readonly recursive?: boolean;
  readonly namespace?: string;
  readonly dryRun?: "none" | "server";
  readonly forceConflicts?: boolean;
  readonly fieldManager?: string;
  readonly validate?: "strict" | "warn" | "ignore";
  readonly output?: "name" | "json" | "yaml";
}

const APPLY_TYPE = "application/apply-patch+yaml";
/** The node may take the object in for some seconds. */
const TIMEOUT_MS = 30_000;
const VALIDATIONS = { strict: "Strict", warn: "Warn", ignore: "Ignore" } as const;

/** The exit code: 1 if an object was refused; the others are applied. Throws UsageError, CliError. */
export async function apply({ args, flags, terminal, connect }: VerbCall): Promise<0 | 1> {
  const options = flags<ApplyFlags>();
  const paths = [...(options.filename ?? []), ...args];
  if (paths.length === 0) throw new UsageError("must specify -f FILE: agent apply -f FILE");
  const objects = await readObjects({ ...options, paths }, terminal);
  const client = await connect();
  let code: 0 | 1 = 0;
  const isDryRun = options.dryRun === "server";
  for (const object of objects) {
    const text = (seconds: number): string => `applying ${shownName(object)} (${seconds} s)`;
    const reply = await withProgress(terminal, text, () => applyObject(client, object, options));
    for (const warning of reply.warnings) terminal.err(`Warning: ${printable(warning)}\n`);
    if (isFailure(reply)) {
      terminal.err(statusText(reply.body));
      code = 1;
    } else if (options.output === "json" || options.output === "yaml")
      await printObject(terminal, reply.body, options.output);
    else terminal.out(`${printableText(doneText(object, isDryRun, options.output))}\n`);
  }
  return code;
}

function doneText(object: ManifestObject, isDryRun: boolean, output: ApplyFlags["output"]): string {
  if (output === "name") return shownName(object);
  return `${shownName(object)} serverside-applied${isDryRun ? " (server dry run)" : ""}`;
}

/** The answer of the API, whatever it is. */
export function applyObject(
  client: LocalClient,
  { object, ...named }: ManifestObject,
  { dryRun, forceConflicts = false, fieldManager = "kubectl", validate = "strict" }: ApplyFlags,
): Promise<KubeReply> {
  const query = new URLSearchParams({
    fieldManager,
    fieldValidation: VALIDATIONS[validate],
    force: String(forceConflicts),
    ...(dryRun === "server" ? { dryRun: "All" } : {}),
  });
  return client.kube({
    method: "PATCH",
    path: `${objectPath(named)}?${query.toString()}`,
    body: { type: APPLY_TYPE, value: object },
    timeoutMs: TIMEOUT_MS,
  });
}
