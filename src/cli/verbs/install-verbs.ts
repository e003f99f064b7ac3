// Performs: the table of the verbs that put the agent on a machine and take it away.

import type { Verb } from "../define-verb.ts";
import type { Flags } from "../flags.ts";

const PLACE: Flags = {
  "--prefix <directory>": {
    description: "/usr is for packages of a distribution",
    default: "/usr/local",
    choices: ["/usr/local", "/usr"],
  },
  "--root <directory>": {
    description: "below this directory, such as a mounted image; no service is started or stopped",
    default: "/",
    completes: "files",
  },
};

export const INSTALL_VERBS: readonly Verb[] = [
  {
    usage: "install",
    description:
      "make this binary the service of this machine, start it and check the machine; again changes only what differs",
    flags: {
      "--dry-run": "say what would be done",
      "--broker <url>": "write mqtt.url into agent.yaml, such as mqtts://broker.example:8883",
      "--ca <file>": { description: "copy the broker's CA certificates", completes: "files" },
      "--cert <file>": { description: "copy the node's certificate", completes: "files" },
      "--key <file>": { description: "copy the key of the certificate", completes: "files" },
      "--trust <file>": {
        description: "copy a public root key for documents: *.pub",
        completes: "files",
      },
      "--name <name>": "write nodeName into agent.yaml, such as '${serial}'",
      "--no-start": "neither enable nor start the service",
      ...PLACE,
      "--print <part>": {
        description: "print one file of the installation and do nothing",
        choices: ["unit", "launcher", "openrc", "sysv", "cni"],
      },
    },
    run: async (call) => (await import("../install/install.ts")).install(call),
  },
  {
    usage: "provision",
    description:
      "take over what a card brings in /boot/firmware/agent: configuration, certificates, keys, manifests; agent run does it at its first start",
    flags: {
      "--again": "also what was taken over before; replaces what stands on the node",
      "--dry-run": "say what would be done",
      "--from <directory>": {
        description:
          "look there (AGENT_PROVISIONING; default: provisioningPath of the configuration, else /boot/firmware/agent, else /boot/agent)",
        completes: "files",
      },
    },
    run: async (call) => (await import("../provision/provision-verb.ts")).provisionNow(call),
  },
  {
    usage: "prepare-image",
    description:
      "remove what makes this node itself, so that each copy of its disk becomes a node of its own; needs a stopped agent",
    flags: {
      "--dry-run": "say what would be removed",
      "--machine-id":
        "also empty /etc/machine-id and D-Bus's copy; systemd makes them anew at the next boot",
      "--claims": "also remove the data of claims",
      "--yes": "do not ask for confirmation",
      "--root <directory>": {
        description: "below this directory, such as a mounted image",
        default: "/",
        completes: "files",
      },
    },
    run: async (call) => (await import("../provision/prepare-verb.ts")).prepareImage(call),
  },
  {
    usage: "uninstall",
    description: "remove the service and the binary; the pods run on unless they are drained",
    flags: {
      "--dry-run": "say what would be done",
      "--drain": "stop all pods first",
      "--purge":
        "remove configuration, state, data of pods and what the node has retained at the broker too; needs --drain",
      "--yes": "do not ask for confirmation",
      ...PLACE,
    },
    run: async (call) => (await import("../install/uninstall.ts")).uninstall(call),
  },
];
