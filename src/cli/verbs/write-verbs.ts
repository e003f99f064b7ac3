// Performs: the table of the verbs that change objects.

import type { Verb } from "../define-verb.ts";
import {
  ALL_NAMESPACES,
  durationOf,
  FIELD_SELECTOR,
  FILENAME,
  namespaceFlag,
  outputFlag,
  RECURSIVE,
  SELECTOR,
  waitTimeOf,
  type Flags,
} from "../flags.ts";

const OBJECT_NAMESPACE: Flags = {
  "-n, --namespace <namespace>": {
    description: "of objects that name none",
    defaultText: "default",
    completes: "namespaces",
  },
};
const DRY_RUNS = ["none", "server"];

export const WRITE_VERBS: readonly Verb[] = [
  {
    usage: "apply [file...]",
    completes: ["files"],
    description: "write objects to this node: each becomes a manifest file",
    flags: {
      ...FILENAME,
      ...RECURSIVE,
      ...OBJECT_NAMESPACE,
      "--dry-run <how>": { description: "server: only show the result", choices: DRY_RUNS },
      "--force-conflicts": "also objects that another manager has written",
      "--field-manager <name>": { description: "who writes", default: "kubectl" },
      "--validate <how>": {
        description: "unknown fields: strict refuses the object, warn and ignore leave them out",
        default: "strict",
        choices: ["strict", "warn", "ignore"],
      },
      ...outputFlag("name", "json", "yaml"),
    },
    run: async (call) => (await import("../write/apply.ts")).apply(call),
  },
  {
    usage: "diff [file...]",
    completes: ["files"],
    description:
      "show what apply would change; the exit code is 1 if there are differences, more if it fails",
    flags: { ...FILENAME, ...RECURSIVE, ...OBJECT_NAMESPACE },
    run: async (call) => (await import("../write/diff.ts")).diff(call),
  },
  {
    usage: "delete [type] [name...]",
    completes: ["writtenObjects"],
    description:
      "delete objects that apply, kubectl or another client has written, and wait until they are gone; of a pod that is stopping, shorten the stop",
    flags: {
      ...FILENAME,
      ...RECURSIVE,
      ...OBJECT_NAMESPACE,
      ...SELECTOR,
      ...FIELD_SELECTOR,
      "--all": "all objects of the kind in the namespace",
      ...ALL_NAMESPACES,
      "--grace-period <seconds>": "the longest time that a pod has to stop; 0 kills it at once",
      "--now": "the same as --grace-period 1",
      "--force": "the same as --grace-period 0",
      "--ignore-not-found": "an object that is not there is no error",
      "--wait [bool]": { description: "wait until the objects are gone", default: "true" },
      "--timeout <duration>": { description: "longest wait, such as 90s", parse: durationOf },
      "--dry-run <how>": { description: "server: only show the result", choices: DRY_RUNS },
      ...outputFlag("name"),
      "--data":
        "of a persistentvolumeclaim: delete all its data for good, and keep the claim itself",
    },
    run: async (call) => (await import("../write/delete.ts")).deleteObjects(call),
  },
  {
    usage: "wait [type] [name...]",
    completes: ["objects"],
    description: "wait until objects meet a condition, are deleted or created",
    flags: {
      // kubectl: below a directory too, unlike other verbs.
      ...FILENAME,
      ...namespaceFlag(),
      ...SELECTOR,
      ...FIELD_SELECTOR,
      "--all": "all objects of the kind in the namespace",
      ...ALL_NAMESPACES,
      "--for <condition>": {
        description:
          "delete, create, condition=NAME[=VALUE], or jsonpath='{PATH}'[=VALUE]; without a value condition means true, and jsonpath any",
        completes: ["delete", "create", "condition=Ready", "condition=", "jsonpath="],
      },
      "--timeout <duration>": {
        description: "longest wait, such as 90s; 0 looks once, and a negative time is a week",
        default: 30_000,
        defaultText: "30s",
        parse: waitTimeOf,
      },
      ...outputFlag("name", "json", "yaml"),
    },
    run: async (call) => (await import("../wait/wait.ts")).wait(call),
  },
  {
    usage: "restart <pod>",
    completes: ["pods"],
    description: "restart the containers of a pod gracefully, and wait until they run again",
    flags: {
      ...namespaceFlag(),
      "-c, --container <name>": { description: "only this one", completes: "containers" },
    },
    run: async (call) => (await import("../restart.ts")).restart(call),
  },
  holdVerb("hold", "pause the updates of a pod of a document, or of all pods; they keep running"),
  holdVerb("release", "end a hold, and allow a failed revision to be tried again"),
];

function holdVerb(verb: "hold" | "release", description: string): Verb {
  return {
    usage: `${verb} [pod]`,
    completes: ["pods"],
    description,
    flags: { ...namespaceFlag("namespace of the pod"), "--all": "all pods of this node" },
    run: async (call) => (await import("../hold.ts")).changeHold(verb, call),
  };
}
