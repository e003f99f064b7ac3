// Performs: the verbs of `agent fleet import`; each loads its work when it runs.

import { outputFlag, type Flags } from "../../cli/flags.ts";
import type { Verb } from "../../cli/define-verb.ts";
import type { FleetParts } from "../open-broker.ts";

const FLAGS: Flags = {
  ...outputFlag("json", "yaml"),
  "--output-dir <directory>": {
    description:
      "write a file for each object there, and print their names (default: all objects to standard output)",
    completes: "files",
  },
};

export function importVerb({ terminal }: FleetParts): Verb {
  return {
    usage: "import",
    description: "write what runs under Docker or Podman as manifests; needs no broker",
    verbs: [
      {
        usage: "compose <file>",
        description:
          "a compose file, - for standard input; prints a warning for each field without a counterpart",
        flags: FLAGS,
        run: async ({ args: [path = ""], flags }) =>
          (await import("./import.ts")).importComposeFile(terminal, path, flags()),
      },
      {
        usage: "quadlet <directory>",
        description: "a directory with units of Podman's Quadlet, such as web.container",
        flags: FLAGS,
        run: async ({ args: [path = ""], flags }) =>
          (await import("./import.ts")).importQuadletDirectory(terminal, path, flags()),
      },
    ],
  };
}
