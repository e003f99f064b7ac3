// Performs: the verbs on ConfigMaps, Secrets and claims, and their flags.

import type { Command, Option } from "commander";
import type { GetObjectsFlags } from "./get-objects.ts";
import type { Doors } from "../load-config.ts";
import type { LocalClient } from "../local-client.ts";
import { OBJECT_WORDS, type ObjectResource } from "./object-query.ts";
import type { Terminal } from "../terminal.ts";

export interface VerbParts {
  readonly terminal: Terminal;
  readonly connect: (doors: Doors) => Promise<LocalClient>;
  readonly output: () => Option;
  readonly done: (code: number) => void;
}

const DESCRIPTIONS: Readonly<Record<ObjectResource, string>> = {
  configmaps: "the ConfigMaps of this node",
  secrets: "the Secrets of this node; their content only with --show-secrets",
  persistentvolumeclaims: "the claims of this node",
};

export function addGetObjects(get: Command, parts: VerbParts): void {
  addGetKind(get, "configmaps", parts);
  const secrets = addGetKind(get, "secrets", parts);
  secrets.option("--show-secrets", "with -o json or yaml: the content itself, in base64");
  addGetKind(get, "persistentvolumeclaims", parts);
}

function addGetKind(get: Command, resource: ObjectResource, parts: VerbParts): Command {
  return get
    .command(`${resource} [name]`)
    .aliases(OBJECT_WORDS[resource].aliases)
    .description(DESCRIPTIONS[resource])
    .addOption(parts.output())
    .option("-n, --namespace <namespace>", "of this namespace", "default")
    .option("-A, --all-namespaces", "of all namespaces")
    .option("-l, --selector <selector>", "with these labels, such as app=web,tier!=test")
    .action(async (name: string | undefined, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<GetObjectsFlags & Doors>();
      const { getObjects } = await import("./get-objects.ts");
      const client = await parts.connect(flags);
      parts.done(await getObjects({ client, terminal: parts.terminal, resource, name, flags }));
    });
}

export function addDeleteClaim(remove: Command, parts: VerbParts): void {
  remove
    .command("persistentvolumeclaim <name>")
    .aliases(["persistentvolumeclaims", "pvc"])
    .description("remove what a claim holds; the claim itself is deleted where it is declared")
    .option("-n, --namespace <namespace>", "of this namespace", "default")
    .option("--data", "yes, remove all its data for good")
    .action(async (name: string, _flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<DeleteClaimFlags>();
      const { deleteClaim } = await import("../delete-claim.ts");
      const client = await parts.connect(flags);
      parts.done(await deleteClaim({ client, terminal: parts.terminal, name, flags }));
    });
}

interface DeleteClaimFlags extends Doors {
  readonly namespace?: string;
  readonly data?: boolean;
}
