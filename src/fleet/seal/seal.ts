// Performs: `agent fleet seal`: Secrets in files → SealedSecrets for a node or a group, to keep in git and to publish later.

import { CliError, UsageError } from "../../cli/exit-codes.ts";
import { chooseTarget, readTarget, type TargetFlags } from "../document/target.ts";
import { write } from "../document/sign.ts";
import { openFleet, type BrokerFlags, type FleetParts } from "../open-broker.ts";
import { readInput } from "../read-input.ts";
import { recipientsOf } from "./recipients.ts";
import { isSecret, namesOf } from "../document/sealed-object.ts";
import { sealSecret } from "./seal-secret.ts";

export interface SealFlags extends BrokerFlags, TargetFlags {
  readonly keys: string;
  /** Absent = standard output. */
  readonly output?: string;
}

/** The exit code. Throws CliError for a node whose key is not accepted, UsageError for something else than Secrets. */
export async function seal(parts: FleetParts, flags: SealFlags): Promise<0> {
  const { terminal, random } = parts;
  const input = await readInput(flags.filename, terminal);
  const target = chooseTarget(input, flags);
  const secrets = input.objects.map(({ file, value }) => {
    if (isSecret(value) && namesOf(value).name !== "") return value;
    throw new UsageError(
      `${file} holds something else than Secrets with a name; name files with Secrets only`,
    );
  });
  if (secrets.length === 0) throw new CliError("there is no Secret to seal");
  await using fleet = await openFleet(parts, flags);
  const { nodes } = await readTarget(fleet, target, terminal);
  const recipients = recipientsOf(nodes, flags.keys, terminal);
  const sealed = secrets.map((secret) => sealSecret(secret, { target, recipients, random }));
  const text = sealed.map((one) => JSON.stringify(one, undefined, 2)).join("\n---\n");
  write(terminal, flags.output, new TextEncoder().encode(text));
  terminal.err(`${sealed.length} sealed to the keys of ${recipients.length} nodes\n`);
  return 0;
}
