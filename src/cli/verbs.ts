// Performs: the table of the verbs of `agent`. Each loads its work only when it runs, so that every verb starts at once.

import type { DeletePodFlags } from "./delete.ts";
import { RESOURCES } from "./get/resources.ts";
import type { GetFlags } from "./get/query.ts";
import type { Resource } from "./get/resource.ts";
import { loadConfig } from "./load-config.ts";
import type { TrustFormat } from "./trust.ts";
import { printableText } from "./terminal-text.ts";
import type { Verb } from "./verb.ts";

const NAMESPACE = { usage: "-n, --namespace <namespace>", description: "in this namespace" };

export const VERBS: readonly Verb[] = [
  {
    usage: "run",
    description: "run the agent in the foreground",
    run: async ({ flags, terminal, version, loadAgent }) => {
      const config = await loadConfig(flags(), terminal.environment);
      const { runAgent } = await loadAgent();
      return runAgent({ config, version });
    },
  },
  {
    usage: "get",
    description: "show pods, objects, events or the node",
    verbs: RESOURCES.map(getVerb),
  },
  {
    usage: "delete",
    description: "shorten the stop of a pod, or delete the data of a claim",
    verbs: [
      {
        usage: "pod <name>",
        aliases: ["pods", "po"],
        description:
          "shorten the stop of a pod; to delete a pod, remove it from its file or document",
        flags: [
          { ...NAMESPACE, default: "default" },
          {
            usage: "--grace-period <seconds>",
            description: "the time left from now on; 0 kills it at once",
          },
          { usage: "--now", description: "the same as --grace-period 1" },
          { usage: "--force", description: "the same as --grace-period 0" },
        ],
        run: async ({ args: [name = ""], flags, terminal, connect }) => {
          const { deletePod } = await import("./delete.ts");
          const client = await connect();
          return deletePod({ client, terminal, name, flags: flags<DeletePodFlags>() });
        },
      },
      {
        usage: "persistentvolumeclaim <name>",
        aliases: ["persistentvolumeclaims", "pvc"],
        description:
          "delete the data of a claim; to delete the claim, remove it from its file or document",
        flags: [
          { ...NAMESPACE, default: "default" },
          { usage: "--data", description: "confirm that all its data is deleted for good" },
        ],
        run: async ({ args: [name = ""], flags, terminal, connect }) => {
          const { deleteClaim } = await import("./delete.ts");
          const client = await connect();
          return deleteClaim({ client, terminal, name, flags: flags() });
        },
      },
    ],
  },
  {
    usage: "validate",
    description: "check manifests without running them; needs no agent",
    flags: [
      {
        usage: "-f, --filename <path>",
        description:
          "a file, a directory of *.yaml, *.yml and *.json, or - for standard input (repeatable)",
        isRequired: true,
        isRepeatable: true,
      },
    ],
    run: async ({ flags, terminal }) => {
      const { validate } = await import("./validate.ts");
      const { filename } = flags<{ readonly filename: readonly string[] }>();
      return validate({ paths: filename, terminal });
    },
  },
  // Verbs about the fields of manifests, documents and the configuration; none needs an agent.
  {
    usage: "explain [field]",
    description:
      "show what a kind or a field means and whether this node supports it; needs no agent",
    flags: [{ usage: "--recursive", description: "list the names of all nested fields" }],
    run: async ({ args: [asked], flags, terminal }) => {
      const { explain } = await import("./explain.ts");
      const { recursive = false } = flags<{ readonly recursive?: boolean }>();
      return explain({ asked, recursive, terminal });
    },
  },
  {
    usage: "schema <kind>",
    description:
      "print the JSON Schema of pod, configmap, secret, pvc, manifest, desiredstate or configuration, for editors; needs no agent",
    run: async ({ args: [asked = ""], terminal }) => {
      const { printSchema } = await import("./schema.ts");
      return printSchema(asked, terminal);
    },
  },
  holdVerb("hold", "pause the updates of a pod of a document, or of all pods; they keep running"),
  holdVerb("release", "end a hold, and allow a failed revision to be tried again"),
  {
    usage: "trust",
    description: "show or reset which keys may sign documents for this node",
    verbs: [
      {
        usage: "show",
        description: "show whether documents must be signed, and the keys in force",
        flags: [
          {
            usage: "-o, --output <format>",
            description: "output format",
            choices: ["json", "yaml"],
          },
        ],
        run: async ({ flags, terminal, connect }) => {
          const { showTrust } = await import("./trust.ts");
          const { output } = flags<{ readonly output?: TrustFormat }>();
          return showTrust({ client: await connect(), terminal, output });
        },
      },
      {
        usage: "reset",
        description:
          "delete the trust bundle and the version of the document, and accept unsigned documents",
        flags: [{ usage: "--yes", description: "do not ask for confirmation" }],
        run: async ({ flags, terminal, connect }) => {
          const { resetTrust } = await import("./trust.ts");
          const { yes = false } = flags<{ readonly yes?: boolean }>();
          return resetTrust({ client: await connect(), terminal, yes });
        },
      },
    ],
  },
  {
    usage: "version",
    description: "print the version; with --socket or --config also that of the running agent",
    run: async ({ flags, terminal, version, connect }) => {
      terminal.out(`agent ${version}\n`);
      const { config, socket } = flags();
      if (config === undefined && socket === undefined) return 0;
      const client = await connect();
      terminal.out(`running: agent ${printableText(await client.version())}\n`);
      return 0;
    },
  },
];

function getVerb(resource: Resource): Verb {
  return {
    usage: resource.isSingle === true ? resource.name : `${resource.name} [name]`,
    aliases: resource.aliases,
    description: resource.description,
    flags: resource.flags,
    run: async ({ args: [name], flags, terminal, connect }) => {
      const { get } = await import("./get/get.ts");
      const client = await connect();
      return get(resource, { client, terminal, name, flags: flags<GetFlags>() });
    },
  };
}

function holdVerb(verb: "hold" | "release", description: string): Verb {
  return {
    usage: `${verb} [pod]`,
    description,
    flags: [
      { ...NAMESPACE, description: "namespace of the pod (default: default)" },
      { usage: "--all", description: "all pods of this node" },
    ],
    run: async ({ args: [name], flags, terminal, connect }) => {
      const { changeHold } = await import("./hold.ts");
      const { namespace, all = false } = flags<HoldFlags>();
      return changeHold({ client: await connect(), terminal, verb, name, namespace, all });
    },
  };
}

interface HoldFlags {
  readonly namespace?: string;
  readonly all?: boolean;
}
