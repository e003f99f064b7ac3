// Performs: `agent delete pod` shortens the grace period of a pod that is stopping; `agent delete pvc --data` deletes the
// data of a claim; `agent hold` and `agent release` pause and resume updates. Pods and objects themselves are removed when
// no file or document declares them any more.

import type { HoldVerb } from "../rollout/update-holds.ts";
import { UsageError } from "./exit-codes.ts";
import { bareName } from "./get/select-objects.ts";
import { CLAIMS, PODS } from "./get/resources.ts";
import { printable } from "./terminal-text.ts";
import type { VerbCall } from "./define-verb.ts";

interface NamespaceFlag {
  readonly namespace: string;
}

interface GraceFlags {
  /** As written. */
  readonly gracePeriod?: string;
  readonly now?: boolean;
  readonly force?: boolean;
}

/** The exit code. Throws UsageError for flags that exclude each other, CliError for a pod that is not stopping. */
export async function deletePod(call: VerbCall): Promise<0> {
  const { args, flags, terminal, connect } = call;
  const { namespace, ...grace } = flags<NamespaceFlag & GraceFlags>();
  const seconds = graceSeconds(grace);
  const name = bareName(PODS, args[0] ?? "");
  if (name === "") throw new UsageError("name a pod: agent delete pod NAME");
  const client = await connect();
  await client.shortenGrace({ namespace, name }, seconds);
  terminal.out(`pod/${printable(name)} has at most ${seconds} s to stop\n`);
  return 0;
}

/** As in kubectl, `--now` is one second and `--force` none. Throws UsageError. */
function graceSeconds({ gracePeriod, now = false, force = false }: GraceFlags): number {
  const seconds = gracePeriod === undefined ? undefined : secondsOf(gracePeriod);
  if (now && seconds !== undefined)
    throw new UsageError("--now and --grace-period cannot be specified together");
  if (now && force) throw new UsageError("--now and --force cannot be specified together");
  if (force && seconds !== undefined && seconds > 0)
    throw new UsageError("--force and --grace-period greater than 0 cannot be specified together");
  if (now) return 1;
  if (force) return 0;
  if (seconds !== undefined) return seconds;
  throw new UsageError(
    "give --grace-period SECONDS, --now or --force: this only shortens the stop of a pod; to delete the pod, remove it from its file or document",
  );
}

function secondsOf(text: string): number {
  const seconds = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(seconds)) return seconds;
  throw new UsageError(
    `--grace-period must be a whole number of seconds, 0 or more, not ${JSON.stringify(text)}`,
  );
}

/** The exit code. Throws CliError without --data, and for a claim that is in use or has no data. */
export async function deleteClaim({ args, flags, terminal, connect }: VerbCall): Promise<0> {
  const { namespace, data } = flags<NamespaceFlag & { readonly data?: boolean }>();
  const name = bareName(CLAIMS, args[0] ?? "");
  if (name === "") throw new UsageError("name a claim: agent delete pvc NAME --data");
  if (data !== true)
    throw new UsageError(
      `this deletes all data of the claim ${namespace}/${name} for good: add --data to confirm; to delete the claim itself, remove it from its file or document`,
    );
  const client = await connect();
  await client.removeClaimData({ namespace, name });
  terminal.out(
    `persistentvolumeclaim/${printable(name)}: all data deleted; its space is freed in the background\n`,
  );
  return 0;
}

/** The exit code. Throws CliError unless either a pod or --all is given, and for an unknown pod. */
export async function changeHold(verb: HoldVerb, call: VerbCall): Promise<0> {
  const { args, flags, terminal, connect } = call;
  const { namespace, all = false } = flags<NamespaceFlag & { readonly all?: boolean }>();
  const name = bareName(PODS, args[0] ?? "");
  if ((name === "") !== all)
    throw new UsageError(`give either a pod name or --all: agent ${verb} NAME`);
  const client = await connect();
  await client.changeHold(verb, all ? undefined : { namespace, name });
  const what = all ? "all pods" : `pod/${printable(name)}`;
  const release = all ? "agent release --all" : "agent release";
  const done = verb === "hold" ? `held: updates wait until ${release}` : "released: updates go on";
  terminal.out(`${what} ${done}\n`);
  return 0;
}
