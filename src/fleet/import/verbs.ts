// Performs: the verbs of `agent fleet import`; each loads its work when it runs.

import { outputFlag } from "../../cli/flags.ts";
import type { Verb } from "../../cli/define-verb.ts";
import type { FleetParts } from "../open-broker.ts";

export function importVerb({ terminal }: FleetParts): Verb {
  return {
    usage: "import",
    description: "write what runs under Docker or Podman as manifests; needs no broker",
    verbs: [
      {
        usage: "compose <file>",
        description:
          "a compose file, - for standard input; prints a warning for each field without a counterpart",
        flags: outputFlag("json", "yaml"),
        run: async ({ args: [path = ""], flags }) =>
          (await import("./import.ts")).importComposeFile(terminal, path, flags()),
      },
      {
        usage: "quadlet <directory>",
        description: "a directory with units of Podman's Quadlet, such as web.container",
        flags: outputFlag("json", "yaml"),
        run: async ({ args: [path = ""], flags }) =>
          (await import("./import.ts")).importQuadletDirectory(terminal, path, flags()),
      },
    ],
  };
}
