// Performs: the table of the verbs that open streams of pods.

import { namespaceFlag, type Flags } from "../flags.ts";
import type { Verb } from "../define-verb.ts";

const CONTAINER: Flags = {
  "-c, --container <name>": {
    description:
      "container; without it the one that the annotation kubectl.kubernetes.io/default-container names, else the first",
    completes: "containers",
  },
};
const SESSION: Flags = {
  ...namespaceFlag("namespace of the pod"),
  ...CONTAINER,
  "-i, --stdin": "pass standard input to the container",
  "-t, --tty": "standard input is a terminal; with -i",
  "-q, --quiet": "print only what the container writes",
};

export const STREAM_VERBS: readonly Verb[] = [
  {
    usage: "exec <pod> [command...]",
    completes: ["pods", []],
    description: "run a command in a container: agent exec POD -- COMMAND",
    flags: SESSION,
    run: async (call) => (await import("./exec.ts")).exec(call),
  },
  {
    usage: "attach <pod>",
    completes: ["pods", []],
    description: "join the process that runs in a container",
    flags: SESSION,
    run: async (call) => (await import("./exec.ts")).attach(call),
  },
  {
    usage: "port-forward <pod> [ports...]",
    completes: ["pods", []],
    description:
      "forward ports of this machine to a pod, as LOCAL:REMOTE, REMOTE, or :REMOTE for a free one",
    flags: {
      ...namespaceFlag("namespace of the pod"),
      "--address <addresses>": {
        description: "addresses to listen on, separated by commas; localhost is IPv4 and IPv6",
        default: "localhost",
      },
    },
    run: async (call) => (await import("./port-forward.ts")).portForward(call),
  },
  {
    usage: "cp <source> <destination>",
    completes: ["podPaths"],
    description:
      "copy files and directories to or from a container that has tar; one place is POD:PATH",
    flags: {
      ...namespaceFlag("namespace of the pod"),
      ...CONTAINER,
      "--no-preserve": "do not keep owner and permissions in the container",
    },
    run: async (call) => (await import("./cp.ts")).cp(call),
  },
];
