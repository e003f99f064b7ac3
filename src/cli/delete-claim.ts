// Performs: `agent delete pvc NAME --data`: removes what a claim holds. The claim itself is deleted where it is
// declared.

import { CliError } from "./cli-error.ts";
import type { LocalClient } from "./local-client.ts";
import { bareName } from "./get/object-query.ts";
import { printable } from "./printable.ts";
import type { Terminal } from "./terminal.ts";

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
  const bare = bareName("persistentvolumeclaims", name);
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
