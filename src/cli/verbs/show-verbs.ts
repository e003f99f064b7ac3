// Performs: the table of the verbs that show objects.

import type { Verb } from "../define-verb.ts";
import { ALL_NAMESPACES, FIELD_SELECTOR, SELECTOR, namespaceFlag, outputFlag } from "../flags.ts";
import { LOG_FLAGS } from "../logs/log-flags.ts";
import { OUTPUT_HELP, OUTPUT_WORDS } from "../get/output-format.ts";

export const SHOW_VERBS: readonly Verb[] = [
  {
    usage: "get [kind] [name...]",
    completes: ["objects"],
    description: "show objects: pods, events, images, the node, what is desired, and others",
    flags: {
      "-o, --output <format>": {
        description: `output format: ${OUTPUT_HELP}`,
        completes: OUTPUT_WORDS,
      },
      ...namespaceFlag(),
      ...ALL_NAMESPACES,
      ...SELECTOR,
      ...FIELD_SELECTOR,
      "-w, --watch": "print every change, until Ctrl-C",
      "--watch-only": "the same, without what there is now",
      "--sort-by <path>": "in the order of this field, such as .status.startTime",
      "--no-headers": "without the titles of the columns",
      "--show-kind": "names as KIND/NAME",
      "--show-labels": "with all labels",
      "-L, --label-columns <label>": {
        description: "with a column for this label (repeatable)",
        isRepeatable: true,
      },
      "--ignore-not-found": "an object that is not there is no error",
      "--for <object>": "events of this object only, such as pod/web",
      "--show-secrets": "with -o json or yaml: the content of Secrets, in base64",
    },
    run: async (call) => (await import("../get/get.ts")).get(call),
  },
  {
    usage: "describe <kind> [name...]",
    completes: ["objects"],
    description: "show all about pods, the node, configmaps, secrets or claims, with their events",
    flags: {
      ...namespaceFlag(),
      ...ALL_NAMESPACES,
      ...SELECTOR,
    },
    run: async (call) => (await import("../describe/describe.ts")).describe(call),
  },
  {
    usage: "logs [pod] [container]",
    completes: ["pods", "containers"],
    description: "print what the containers of a pod wrote",
    flags: {
      ...LOG_FLAGS,
      "-l, --selector <selector>": "of all pods with these labels",
    },
    run: async (call) => (await import("../logs/logs.ts")).logs(call),
  },
  {
    usage: "top",
    description: "show what pods, or the node, use of processor and memory",
    verbs: [
      {
        usage: "pod [name]",
        completes: ["pods"],
        aliases: ["pods", "po"],
        description: "of each pod, or of its containers",
        flags: {
          ...namespaceFlag(),
          ...ALL_NAMESPACES,
          ...SELECTOR,
          "--containers": "of each container",
          "--sort-by <what>": { description: "the highest first", choices: ["cpu", "memory"] },
          "--no-headers": "without the titles of the columns",
        },
        run: async (call) => (await import("../top/top.ts")).topPod(call),
      },
      {
        usage: "node",
        aliases: ["nodes", "no"],
        description: "of the node, and which share of what pods may use",
        flags: { "--no-headers": "without the titles of the columns" },
        run: async (call) => (await import("../top/top.ts")).topNode(call),
      },
    ],
  },
  {
    usage: "explain [subject]",
    completes: ["fields"],
    description:
      "show why pod/NAME does not run and what to do; of a kind or a field, what it means and whether this node supports it, which needs no agent",
    flags: {
      ...namespaceFlag("namespace of the pod"),
      ...outputFlag("json", "yaml"),
      "--recursive": "list the names of all nested fields",
    },
    run: async (call) =>
      call.args[0]?.includes("/") === true
        ? (await import("../explain/explain-pod.ts")).explainPod(call)
        : (await import("../explain/explain-field.ts")).explain(call),
  },
];
