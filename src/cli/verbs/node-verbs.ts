// Performs: the table of the verbs about the node and its agent.

import type { Verb } from "../define-verb.ts";
import { countOf, durationOf, outputFlag } from "../flags.ts";

export const NODE_VERBS: readonly Verb[] = [
  {
    usage: "run",
    description: "run the agent in the foreground",
    run: async ({ flags, terminal, version, loadAgent }) => {
      const { startingConfig } = await import("../provision/starting-config.ts");
      const starting = await startingConfig(flags(), terminal);
      const { runAgent } = await loadAgent();
      return runAgent({ ...starting, version });
    },
  },
  {
    usage: "check",
    description:
      "check whether this machine can run pods, and say what to do where it cannot; needs no running agent",
    flags: outputFlag("json", "yaml"),
    run: async (call) => (await import("../check/check.ts")).check(call),
  },
  {
    usage: "fsck",
    description:
      "check database, manifests, versions and the content of images for damage; exits with 0 if there is none, 1 if all was repaired, 4 if some is left, 8 if something could not be checked, or their sum",
    flags: {
      "--all": "also images that no pod needs",
      "--light": "only what costs little: no index, no digest of an image or a version",
      "--repair":
        "repair what can be: broken images are removed and brought again, the state only while the agent is stopped",
      "--force": "with --repair: also images that the agent cannot bring again by itself",
      "--yes": "do not ask for confirmation",
      "--containerd-root <directory>": {
        description: "where containerd keeps its content (default: containerd is asked)",
        completes: "files",
      },
      ...outputFlag("json", "yaml"),
    },
    run: async (call) => (await import("../fsck/fsck.ts")).fsck(call),
  },
  {
    usage: "trust",
    description: "show or reset which keys may sign documents for this node, and its own keys",
    verbs: [
      {
        usage: "show",
        description:
          "show whether documents must be signed, the keys in force, and the fingerprint of the node's own key",
        flags: outputFlag("json", "yaml"),
        run: async (call) => (await import("../trust.ts")).showTrust(call),
      },
      {
        usage: "reset",
        description:
          "delete the trust bundle and the version of the document, and accept unsigned documents",
        flags: { "--yes": "do not ask for confirmation" },
        run: async (call) => (await import("../trust.ts")).resetTrust(call),
      },
      {
        usage: "rotate-key",
        description:
          "give the node new keys of its own, to which Secrets are sealed; the key before opens what was sealed to it until the next rotation",
        run: async (call) => (await import("../trust.ts")).rotateKey(call),
      },
    ],
  },
  {
    usage: "kubeconfig",
    description:
      "print a kubeconfig with a new certificate or token for this node; the first one opens the API over TLS",
    flags: {
      "--server <url>":
        "address in it, such as https://pi.example:6450 (default: where the agent listens)",
      "--user <name>": "name of the user (default: admin, or viewer with --read-only)",
      "--read-only": "the user changes nothing and reads no Secrets",
      "--token": "with a bearer token instead of a client certificate",
      "-o, --output <file>": {
        description: "new file that is written with mode 0600; - is standard output",
        default: "-",
      },
      "--list": "show who may come, and where the API is open",
      "--revoke <name>": "end all certificates, tokens and running requests of a user",
      "--off": "close the API that an earlier agent kubeconfig has opened",
    },
    run: async (call) => (await import("../kubeconfig.ts")).makeKubeconfig(call),
  },
  {
    usage: "ui",
    description:
      "print an address of the page in the browser that works once, and open it where there is a display",
    flags: {
      "--user <name>": "name of the user (default: admin, or viewer with --read-only)",
      "--read-only": "the page changes nothing and reads no Secrets",
      "--no-open": "do not open a browser",
      "--url-only": "print the address and nothing else",
    },
    run: async (call) => (await import("../ui/open-ui.ts")).openUi(call),
  },
  {
    usage: "support-bundle",
    description:
      "write one archive of what a supporter needs, without secrets; needs no running agent",
    flags: {
      "-o, --output <file>": {
        description: "new file that is written with mode 0600; - is standard output",
        defaultText: "agent-support-HOST-TIME.tar.gz",
      },
      "--logs": "with the newest lines that containers wrote, which may hold anything",
      "--tail <lines>": {
        description: "with --logs: lines of each container",
        defaultText: "500",
        parse: countOf,
      },
    },
    run: async (call) => (await import("../support/support-bundle.ts")).makeBundle(call),
  },
  {
    usage: "self-update [source]",
    description:
      "update the agent itself from a file or an address; the new version goes back by itself if it fails",
    flags: {
      "--sha256 <digest>": "of the binary, in 64 hexadecimal digits",
      "--allow-unsigned": "also a binary without signature, on a node without keys",
      "--retry": "also a binary that has failed on this node before",
      "--status": "show the version, and how far an update is",
      "--back": "run the previous version again",
      ...outputFlag("json", "yaml"),
    },
    completes: ["files"],
    run: async (call) => (await import("../self-update/self-update.ts")).selfUpdate(call),
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
    run: async (call) => (await import("../shutdown.ts")).shutDown(call),
  },
];
