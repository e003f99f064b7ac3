// Performs: `agent delete`: deletes objects and waits until they are gone; `--data` deletes the data of a claim instead.
// kubectl: delete

import { deadline } from "../../lib/clock.ts";
import { CliError, UsageError } from "../exit-codes.ts";
import type { LocalClient } from "../local-client.ts";
import { printable } from "../terminal-text.ts";
import type { Terminal } from "../process-io.ts";
import type { VerbCall } from "../define-verb.ts";
import { isSelected } from "../get/resource-arguments.ts";
import { withProgress } from "../terminal/progress-line.ts";
import { chosenObjects, type ChoiceFlags } from "./chosen-objects.ts";
import { isFailure, statusText, uidOf } from "./status-text.ts";
import { objectPath, pluralOf, shownName, type NamedObject } from "./written-kinds.ts";

interface DeleteFlags extends ChoiceFlags {
  /** As written. */
  readonly gracePeriod?: string;
  readonly now?: boolean;
  readonly force?: boolean;
  readonly ignoreNotFound?: boolean;
  /** `true` or `false`, or true without a value. */
  readonly wait?: string | boolean;
  /** In ms. */
  readonly timeout?: number;
  readonly dryRun?: "none" | "server";
  readonly data?: boolean;
  readonly output?: "name";
}

const POLL_MS = 200;
/** The agent answers when the pod stops. */
const TIMEOUT_MS = 30_000;

/** The exit code: 1 if an object was not deleted. Throws UsageError, CliError. */
export async function deleteObjects(call: VerbCall): Promise<0 | 1> {
  const { flags, terminal, connect } = call;
  const options = flags<DeleteFlags>();
  const seconds = graceSeconds(options);
  const waits = doesWait(options);
  const objects = await chosenObjects(call, options);
  if (objects.length === 0) {
    terminal.out("No resources found\n");
    return 0;
  }
  if (options.data === true) return deleteData(objects, call);
  const client = await connect();
  let code: 0 | 1 = 0;
  const deleted: { readonly object: NamedObject; readonly uid: string }[] = [];
  for (const object of objects) {
    const uid = await deleteOne(client, object, { ...options, seconds, terminal });
    if (uid === undefined) code = 1;
    else if (uid !== ABSENT) deleted.push({ object, uid });
  }
  // Of a pod that is killed at once kubectl does not wait either.
  if (!waits || seconds === 0 || options.dryRun === "server") return code;
  const { timeout } = options;
  const until = new AbortController();
  using limit = timeout === undefined ? undefined : deadline(terminal.clock, timeout);
  const signal = limit?.signal ?? until.signal;
  for (const { object, uid } of deleted) {
    const text = (passed: number): string =>
      `waiting until ${shownName(object)} is gone (${passed} s)`;
    const look = { uid, terminal, signal };
    if (await withProgress(terminal, text, () => isGone(client, object, look))) continue;
    terminal.err(
      `error: timed out waiting for the condition on ${printable(`${pluralOf(object.kind)}/${object.name}`)}\n`,
    );
    return 1;
  }
  return code;
}

/** Of an object that was not there, and need not be. */
const ABSENT = "-";

/** Its UID; undefined = it was not deleted, and why is printed. */
async function deleteOne(
  client: LocalClient,
  object: NamedObject,
  options: DeleteFlags & { readonly seconds: number | undefined; readonly terminal: Terminal },
): Promise<string | undefined> {
  const { seconds, terminal, dryRun } = options;
  // Of what was found a moment ago it is none either. kubectl: DeleteOptions.Complete
  const { ignoreNotFound = isSelected(options) } = options;
  const query = new URLSearchParams({
    ...(seconds === undefined ? {} : { gracePeriodSeconds: String(seconds) }),
    ...(dryRun === "server" ? { dryRun: "All" } : {}),
  });
  const path = `${objectPath(object)}?${query.toString()}`;
  const reply = await client.kube({ method: "DELETE", path, timeoutMs: TIMEOUT_MS });
  for (const warning of reply.warnings) terminal.err(`Warning: ${printable(warning)}\n`);
  if (reply.status === 404 && ignoreNotFound) return ABSENT;
  if (isFailure(reply)) {
    terminal.err(statusText(reply.body));
    return undefined;
  }
  if (options.output === "name") {
    terminal.out(`${printable(shownName(object))}\n`);
    return uidOf(reply.body);
  }
  const how = seconds === 0 ? "force deleted" : "deleted";
  const note = dryRun === "server" ? " (server dry run)" : "";
  terminal.out(
    `${object.kind.toLowerCase()} ${JSON.stringify(printable(object.name))} ${how}${note}\n`,
  );
  return uidOf(reply.body);
}

/** Resolves to false when `signal` aborts before the object is gone, or another one has its name. */
async function isGone(
  client: LocalClient,
  object: NamedObject,
  options: { readonly uid: string; readonly terminal: Terminal; readonly signal: AbortSignal },
): Promise<boolean> {
  const { uid, terminal, signal } = options;
  while (!signal.aborted) {
    const { status, body } = await client.kube({ method: "GET", path: objectPath(object) });
    if (status === 404 || (status === 200 && uidOf(body) !== uid)) return true;
    await terminal.clock.sleep(POLL_MS, signal);
  }
  return false;
}

/** As in kubectl, `--now` is one second and `--force` none; undefined = the pod's own. Throws UsageError. */
function graceSeconds({
  gracePeriod,
  now = false,
  force = false,
}: DeleteFlags): number | undefined {
  const seconds = gracePeriod === undefined ? undefined : secondsOf(gracePeriod);
  if (now && seconds !== undefined)
    throw new UsageError("--now and --grace-period cannot be specified together");
  if (now && force) throw new UsageError("--now and --force cannot be specified together");
  if (force && seconds !== undefined && seconds > 0)
    throw new UsageError("--force and --grace-period greater than 0 cannot be specified together");
  if (now) return 1;
  return force ? 0 : seconds;
}

function secondsOf(text: string): number | undefined {
  // kubectl's word for the pod's own.
  if (text === "-1") return undefined;
  const seconds = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(seconds)) return seconds;
  throw new UsageError(
    `--grace-period must be a whole number of seconds, 0 or more, not ${JSON.stringify(text)}`,
  );
}

function doesWait({ wait = true }: DeleteFlags): boolean {
  if (wait === true || wait === "true") return true;
  if (wait === false || wait === "false") return false;
  throw new UsageError(`--wait must be true or false, not ${JSON.stringify(wait)}`);
}

/** Throws CliError for a claim that is in use or has no data. */
async function deleteData(
  objects: readonly NamedObject[],
  { terminal, connect }: VerbCall,
): Promise<0> {
  const other = objects.find(({ kind }) => kind !== "PersistentVolumeClaim");
  if (other !== undefined)
    throw new UsageError("--data is for claims: agent delete pvc NAME --data");
  const client = await connect();
  for (const { namespace, name } of objects) {
    if (name === "") throw new CliError("a claim has no name");
    await client.removeClaimData({ namespace, name });
    terminal.out(
      `persistentvolumeclaim/${printable(name)}: all data deleted; its space is freed in the background\n`,
    );
  }
  return 0;
}
