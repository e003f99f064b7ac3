// Performs: the table of the verbs about manifests and the configuration; none needs an agent.

import type { Verb } from "../define-verb.ts";
import { outputFlag, RECURSIVE } from "../flags.ts";

export const FILE_VERBS: readonly Verb[] = [
  {
    usage: "validate [file...]",
    completes: ["files"],
    description: "check manifests without running them; needs no agent",
    flags: {
      "-f, --filename <path>": {
        description:
          "a file, a directory of *.yaml, *.yml and *.json, or - for standard input (repeatable), also without -f",
        isRepeatable: true,
        completes: "files",
      },
      ...RECURSIVE,
      "--strict": "exit with 1 if there are warnings",
      ...outputFlag("json", "yaml"),
    },
    run: async (call) => (await import("../validate/validate.ts")).validate(call),
  },
  {
    usage: "schema <kind>",
    completes: ["schemaKinds"],
    description:
      "print the JSON Schema of pod, configmap, secret, pvc, manifest, desiredstate or configuration, for editors; needs no agent",
    run: async (call) => (await import("../schema.ts")).printSchema(call),
  },
  {
    usage: "config",
    description: "show the agent's configuration; needs no agent",
    verbs: [
      {
        usage: "print",
        description:
          "check the configuration and print every field that is in force, with defaults",
        flags: outputFlag("yaml", "json"),
        run: async (call) => (await import("../config-print.ts")).printConfig(call),
      },
    ],
  },
];
