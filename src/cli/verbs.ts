// Performs: the table of the verbs of `agent`. Each loads its work only when it runs, so that every verb starts at once.

import { namespaceFlag, outputFlag, durationOf } from "./flags.ts";
import { RESOURCES } from "./get/resources.ts";
import type { Resource } from "./get/resource-type.ts";
import { loadConfig } from "./load-config.ts";
import { printableText } from "./terminal-text.ts";
import type { Verb } from "./define-verb.ts";

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
        flags: {
          ...namespaceFlag(),
          "--grace-period <seconds>": "the time left from now on; 0 kills it at once",
          "--now": "the same as --grace-period 1",
          "--force": "the same as --grace-period 0",
        },
        run: async (call) => (await import("./delete-and-hold.ts")).deletePod(call),
      },
      {
        usage: "persistentvolumeclaim <name>",
        aliases: ["persistentvolumeclaims", "pvc"],
        description:
          "delete the data of a claim; to delete the claim, remove it from its file or document",
        flags: {
          ...namespaceFlag(),
          "--data": "confirm that all its data is deleted for good",
        },
        run: async (call) => (await import("./delete-and-hold.ts")).deleteClaim(call),
      },
    ],
  },
  {
    usage: "validate [file...]",
    description: "check manifests without running them; needs no agent",
    flags: {
      "-f, --filename <path>": {
        description:
          "a file, a directory of *.yaml, *.yml and *.json, or - for standard input (repeatable), also without -f",
        isRepeatable: true,
      },
      "--strict": "exit with 1 if there are warnings",
    },
    run: async (call) => (await import("./validate-files.ts")).validate(call),
  },
  // Verbs about the fields of manifests, documents and the configuration; none needs an agent.
  {
    usage: "explain [field]",
    description:
      "show what a kind or a field means and whether this node supports it; needs no agent",
    flags: { "--recursive": "list the names of all nested fields" },
    run: async (call) => (await import("./explain.ts")).explain(call),
  },
  {
    usage: "schema <kind>",
    description:
      "print the JSON Schema of pod, configmap, secret, pvc, manifest, desiredstate or configuration, for editors; needs no agent",
    run: async (call) => (await import("./schema.ts")).printSchema(call),
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
        run: async (call) => (await import("./config-print.ts")).printConfig(call),
      },
    ],
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
        flags: outputFlag("json", "yaml"),
        run: async (call) => (await import("./trust.ts")).showTrust(call),
      },
      {
        usage: "reset",
        description:
          "delete the trust bundle and the version of the document, and accept unsigned documents",
        flags: { "--yes": "do not ask for confirmation" },
        run: async (call) => (await import("./trust.ts")).resetTrust(call),
      },
    ],
  },
  {
    usage: "images",
    description:
      "list, pull and remove images of this node, bring them from archives or write archives",
    verbs: [
      {
        usage: "ls",
        aliases: ["list"],
        description:
          "list the images that the container runtime has, and who uses each; without an agent that is not shown",
        run: async (call) => (await import("./images/archives-and-list.ts")).listImages(call),
      },
      {
        usage: "pull <image...>",
        description: "let the agent pull images, with the credentials of the node",
        run: async (call) => (await import("./images/image-orders.ts")).pullImages(call),
      },
      {
        usage: "rm <image...>",
        aliases: ["remove"],
        description: "remove images that nothing needs, each with all its names",
        flags: { "--force": "also images that this agent did not bring" },
        run: async (call) => (await import("./images/image-orders.ts")).removeImages(call),
      },
      {
        usage: "prune",
        description: "remove all images that this agent has brought and nothing needs",
        flags: { "--dry-run": "only show what would be removed" },
        run: async (call) => (await import("./images/image-orders.ts")).pruneImages(call),
      },
      {
        usage: "import <file>",
        description:
          "import the images of a docker-archive or OCI layout, plain, gzip or zstd; - is standard input; needs no agent",
        flags: {
          "--name <name>": "name of an image without one, or repository of one that has a tag only",
        },
        run: async (call) => (await import("./images/archives-and-list.ts")).importImages(call),
      },
      {
        usage: "export <image...>",
        description:
          "write images as one archive, an OCI layout that docker load reads too; needs no agent",
        flags: {
          "-o, --output <file>": {
            description: "file that is written; - is standard output",
            isRequired: true,
          },
        },
        run: async (call) => (await import("./images/archives-and-list.ts")).exportImages(call),
      },
    ],
  },
  {
    usage: "shutdown",
    description: "stop all pods before the machine goes off, critical pods last, and wait for it",
    flags: {
      "--timeout <duration>": {
        description: "longest wait, such as 90s (default: the grace periods of the pods, and 30s)",
        parse: durationOf,
      },
      "--cancel": "pods start again; without it they do at the next boot",
    },
    run: async (call) => (await import("./shutdown.ts")).shutDown(call),
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
    run: async (call) => (await import("./get/get.ts")).get(resource, call),
  };
}

function holdVerb(verb: "hold" | "release", description: string): Verb {
  return {
    usage: `${verb} [pod]`,
    description,
    flags: { ...namespaceFlag("namespace of the pod"), "--all": "all pods of this node" },
    run: async (call) => (await import("./delete-and-hold.ts")).changeHold(verb, call),
  };
}
