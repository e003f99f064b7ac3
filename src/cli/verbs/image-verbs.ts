// Performs: the table of the verbs about images.

import type { Verb } from "../define-verb.ts";

export const IMAGE_VERBS: readonly Verb[] = [
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
        run: async (call) => (await import("../images/archives-and-list.ts")).listImages(call),
      },
      {
        usage: "pull <image...>",
        description: "let the agent pull images, with the credentials of the node",
        run: async (call) => (await import("../images/image-orders.ts")).pullImages(call),
      },
      {
        usage: "rm <image...>",
        completes: ["images"],
        aliases: ["remove"],
        description: "remove images that nothing needs, each with all its names",
        flags: { "--force": "also images that this agent did not bring" },
        run: async (call) => (await import("../images/image-orders.ts")).removeImages(call),
      },
      {
        usage: "prune",
        description: "remove all images that this agent has brought and nothing needs",
        flags: { "--dry-run": "only show what would be removed" },
        run: async (call) => (await import("../images/image-orders.ts")).pruneImages(call),
      },
      {
        usage: "import <file>",
        completes: ["files"],
        description:
          "import the images of a docker-archive or OCI layout, plain, gzip or zstd; - is standard input; needs no agent",
        flags: {
          "--name <name>": "name of an image without one, or repository of one that has a tag only",
        },
        run: async (call) => (await import("../images/archives-and-list.ts")).importImages(call),
      },
      {
        usage: "export <image...>",
        completes: ["images"],
        description:
          "write images as one archive, an OCI layout that docker load reads too; needs no agent",
        flags: {
          "-o, --output <file>": {
            description: "file that is written; - is standard output",
            isRequired: true,
          },
        },
        run: async (call) => (await import("../images/archives-and-list.ts")).exportImages(call),
      },
    ],
  },
];
