// Performs: the verbs that make updates wait, and their flags.

import type { Command } from "commander";
import type { Doors } from "./load-config.ts";
import type { VerbParts } from "./get/object-verbs.ts";

interface HoldFlags extends Doors {
  readonly namespace?: string;
  readonly all?: boolean;
}

const VERBS = {
  hold: "keep a document's pod, or all of this node, from being updated; what runs goes on",
  release: "end a hold, and let a revision that has failed be tried again",
} as const;

export function addHold(
  program: Command,
  { terminal, connect, done }: Pick<VerbParts, "terminal" | "connect" | "done">,
): void {
  for (const verb of ["hold", "release"] as const) {
    program
      .command(`${verb} [pod]`)
      .description(VERBS[verb])
      .option("-n, --namespace <namespace>", "of the pod (default: default)")
      .option("--all", "all pods of this node")
      .action(async (name: string | undefined, _flags: unknown, command: Command) => {
        const flags = command.optsWithGlobals<HoldFlags>();
        const { changeHold } = await import("./hold.ts");
        const client = await connect(flags);
        const { namespace, all = false } = flags;
        done(await changeHold({ client, terminal, verb, name, namespace, all }));
      });
  }
}
