// Performs: the verbs on trust and their flags.

import { Option, type Command } from "commander";
import type { Doors } from "./load-config.ts";
import type { VerbParts } from "./get/object-verbs.ts";
import type { TrustFormat } from "./trust.ts";

const FORMATS: readonly TrustFormat[] = ["json", "yaml"];

type Parts = Pick<VerbParts, "terminal" | "connect" | "done">;

export function addTrust(program: Command, parts: Parts): void {
  const trust = program
    .command("trust")
    .description("whose documents run on this node; show it, or forget it");
  addShow(trust, parts);
  addReset(trust, parts);
}

function addShow(trust: Command, { terminal, connect, done }: Parts): void {
  trust
    .command("show")
    .description("whether documents must be signed, and the keys that count")
    .addOption(new Option("-o, --output <format>", "how to print it").choices(FORMATS))
    .action(async (_flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<Doors & { readonly output?: TrustFormat }>();
      const { showTrust } = await import("./trust.ts");
      const client = await connect(flags);
      done(await showTrust({ client, terminal, output: flags.output }));
    });
}

function addReset(trust: Command, { terminal, connect, done }: Parts): void {
  trust
    .command("reset")
    .description(
      "forget that documents must be signed, the trust bundle and the document's version",
    )
    .option("--yes", "do not ask")
    .action(async (_flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<Doors & { readonly yes?: boolean }>();
      const { resetTrust } = await import("./trust.ts");
      const client = await connect(flags);
      done(await resetTrust({ client, terminal, yes: flags.yes === true }));
    });
}
