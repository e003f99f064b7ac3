// Performs: `agent delete pod NAME`, which shortens the grace period of a pod that is stopping, and `agent delete pvc NAME
// --data`, which deletes the data of a claim. The objects themselves go when no file or document has them any more.

import { CliError } from "./cli-error.ts";
import { bareName } from "./get/query.ts";
import { CLAIMS, PODS } from "./get/resources.ts";
import type { LocalClient } from "./local-client.ts";
import { printable } from "./terminal-text.ts";
import type { Terminal } from "./terminal.ts";

export interface DeletePodFlags {
  readonly namespace?: string | undefined;
  /** As written. */
  readonly gracePeriod?: string | undefined;
  readonly now?: boolean | undefined;
  readonly force?: boolean | undefined;
}

export interface DeletePodOptions {
  readonly client: LocalClient;
  readonly terminal: Terminal;
  /** As written: `web` or `pod/web`. */
  readonly name: string;
  readonly flags: DeletePodFlags;
}

/** The exit code. Throws CliError for flags that exclude each other and for a pod that is not stopping. */
export async function deletePod({ client, terminal, name, flags }: DeletePodOptions): Promise<0> {
  const seconds = graceSeconds(flags);
  const bare = bareName(PODS, name);
  if (bare === "") throw new CliError(2, "name a pod: agent delete pod NAME");
  const { namespace = "default" } = flags;
  await client.shortenGrace({ namespace, name: bare }, seconds);
  terminal.out(`pod/${printable(bare)} has at most ${seconds} s to stop\n`);
  return 0;
}

/** As in kubectl, `--now` is one second and `--force` none. Throws CliError, exit code 2. */
export function graceSeconds({ gracePeriod, now = false, force = false }: DeletePodFlags): number {
  const seconds = gracePeriod === undefined ? undefined : secondsOf(gracePeriod);
  if (now && seconds !== undefined)
    throw new CliError(2, "--now and --grace-period cannot be specified together");
  if (now && force) throw new CliError(2, "--now and --force cannot be specified together");
  if (force && seconds !== undefined && seconds > 0)
    throw new CliError(2, "--force and --grace-period greater than 0 cannot be specified together");
  if (now) return 1;
  if (force) return 0;
  if (seconds !== undefined) return seconds;
  throw new CliError(
    2,
    "give --grace-period SECONDS, --now or --force: this only shortens the stop of a pod; to delete the pod, remove it from its file or document",
  );
}

function secondsOf(text: string): number {
  const seconds = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(seconds)) return seconds;
  throw new CliError(
    2,
    `--grace-period must be a whole number of seconds, 0 or more, not ${JSON.stringify(text)}`,
  );
}

export interface DeleteClaimOptions {
  readonly client: LocalClient;
  readonly terminal: Terminal;
  /** As written: `data` or `pvc/data`. */
  readonly name: string;
  readonly flags: {
    readonly namespace?: string | undefined;
    readonly data?: boolean | undefined;
  };
}

/** The exit code. Throws CliError without --data, and for a claim that is in use or has no data. */
export async function deleteClaim({
  client,
  terminal,
  name,
  flags,
}: DeleteClaimOptions): Promise<0> {
  const bare = bareName(CLAIMS, name);
  if (bare === "") throw new CliError(2, "name a claim: agent delete pvc NAME --data");
  const { namespace = "default" } = flags;
  if (flags.data !== true)
    throw new CliError(
      2,
      `this deletes all data of the claim ${namespace}/${bare} for good: add --data to confirm; to delete the claim itself, remove it from its file or document`,
    );
  await client.removeClaimData({ namespace, name: bare });
  terminal.out(`persistentvolumeclaim/${printable(bare)}: all data deleted\n`);
  return 0;
}
