// Performs: `agent delete pod NAME`, which makes a pod that is being stopped stop sooner, and `agent delete pvc NAME
// --data`, which removes the data of a claim. Both objects themselves are deleted where they are declared.

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

/** The exit code; throws CliError for flags that contradict each other and for a pod that is not being stopped. */
export async function deletePod({ client, terminal, name, flags }: DeletePodOptions): Promise<0> {
  const seconds = graceSeconds(flags);
  const bare = bareName(PODS, name);
  if (bare === "") throw new CliError(2, "a pod has a name: agent delete pod NAME");
  const { namespace = "default" } = flags;
  await client.shortenGrace({ namespace, name: bare }, seconds);
  terminal.out(`pod/${printable(bare)} has at most ${seconds} s to stop\n`);
  return 0;
}

/** kubectl: `--now` is one second, `--force` none; exit code 2 for anything else than one of the three. */
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
    "give --grace-period SECONDS, --now or --force: a pod is deleted where it is declared, here one that is being stopped only gets less time",
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

/** The exit code; throws CliError without --data, and for a claim that is in use or holds nothing. */
export async function deleteClaim({
  client,
  terminal,
  name,
  flags,
}: DeleteClaimOptions): Promise<0> {
  const bare = bareName(CLAIMS, name);
  if (bare === "") throw new CliError(2, "a claim has a name: agent delete pvc NAME --data");
  const { namespace = "default" } = flags;
  if (flags.data !== true)
    throw new CliError(
      2,
      `this would remove everything that the claim ${namespace}/${bare} holds, for good: add --data if that is meant; the claim itself is deleted where it is declared`,
    );
  await client.removeClaimData({ namespace, name: bare });
  terminal.out(`the data of persistentvolumeclaim/${printable(bare)} is removed\n`);
  return 0;
}
