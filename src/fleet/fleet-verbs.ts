// Performs: the table of the verbs of `agent fleet`: an operator's side, which talks to the broker only. Each verb loads
// its work when it runs.

import { outputFlag } from "../cli/flags.ts";
import type { Terminal } from "../cli/process-io.ts";
import type { Verb } from "../cli/define-verb.ts";
import { systemClock, systemRandom } from "../lib/system-clock.ts";
import { MqttjsLink } from "../mqtt/mqttjs-link.ts";
import type { MqttLink } from "../mqtt/mqtt-link.ts";
import { commandVerbs } from "./command-verbs.ts";
import type { FleetParts } from "./open-broker.ts";
import { importVerb } from "./import/verbs.ts";
import { logsVerb } from "./session/logs-verb.ts";
import { sessionVerbs } from "./session/verbs.ts";
import { rolloutVerb } from "./rollout/verbs.ts";
import { uiVerb } from "./ui/verbs.ts";
import {
  BROKER_FLAGS,
  KEYS_FLAG,
  OUTPUT_FILE,
  SEAL_FLAGS,
  TARGET_FLAGS,
  bundleVersionFlag,
  fileFlag,
  keyFlag,
  listFlag,
  timeoutFlag,
} from "./flags.ts";

/** Without `release`: who signs documents need not be who makes binaries. */
const ROLES = ["desired", "rollout", "command"];
const APPLY_TIMEOUT = "15m";
const EVENTS_TIMEOUT = "15s";
const OUTPUT = outputFlag("wide", "json", "yaml");

export type FleetVerbs = Required<Pick<Verb, "flags" | "verbs">>;

/** With the real broker. */
export function fleetVerbs(terminal: Terminal): FleetVerbs {
  return fleetVerbsOf({ terminal, link: realLink(), random: systemRandom });
}

export function fleetVerbsOf(parts: FleetParts): FleetVerbs {
  return {
    flags: BROKER_FLAGS,
    verbs: [
      ...offlineVerbs(parts),
      importVerb(parts),
      trustVerb(parts),
      ...documentVerbs(parts),
      ...sealVerbs(parts),
      rolloutVerb(parts),
      uiVerb(parts),
      getVerb(parts),
      statusVerb(parts),
      exporterVerb(parts),
      logsVerb(parts),
      ...commandVerbs(parts),
      ...sessionVerbs(parts),
      forgetVerb(parts),
    ],
  };
}

function realLink(): MqttLink {
  // The MQTT library parses addresses with a deprecated API, and the warning is of no use to an operator.
  process.noDeprecation = true;
  return new MqttjsLink(systemClock());
}

function offlineVerbs({ terminal }: FleetParts): readonly Verb[] {
  return [
    {
      usage: "keygen",
      description: "make a root key, a signing key and a first TrustBundle; needs no broker",
      flags: {
        "--dir <directory>": { description: "directory for the new files", default: "." },
        "--roles <roles>": listFlag(
          `what the signing key may sign: ${ROLES.join(",")},release`,
          ROLES,
        ),
        "--node-globs <globs>": listFlag("nodes it may sign for, such as pi-*,gw-1 (default all)"),
        "--groups <groups>": listFlag("groups it may sign for (default all)"),
      },
      run: async ({ flags }) => (await import("./trust/keygen.ts")).keygen(terminal, flags()),
    },
    {
      usage: "sign",
      description: "sign a whole DesiredState, to publish it by other means; needs no broker",
      flags: {
        ...fileFlag("the document in YAML or JSON, - for standard input"),
        ...keyFlag("private key in PEM", { isRequired: true }),
        ...OUTPUT_FILE,
      },
      run: async ({ flags }) =>
        (await import("./document/sign.ts")).signDocument(terminal, flags()),
    },
    {
      usage: "sign-release <binary>",
      description:
        "sign a binary of the agent for agent self-update, as <binary>.sig; needs no broker",
      flags: {
        ...keyFlag("private key in PEM, with the role release", { isRequired: true }),
        "--agent-version <version>":
          "version of the binary (default: what it says itself, if it runs here)",
        ...OUTPUT_FILE,
      },
      run: async ({ args: [binary = ""], flags }) =>
        (await import("./trust/sign-release.ts")).signRelease(terminal, binary, flags()),
    },
  ];
}

function trustVerb(parts: FleetParts): Verb {
  return {
    usage: "trust",
    description: "which keys may sign: the TrustBundle of the fleet",
    verbs: [
      {
        usage: "sign",
        description: "sign a bundle {version, notBefore, root, keys}; needs no broker",
        flags: {
          ...fileFlag("the bundle; keys in base64 or as names of .pub files"),
          ...keyFlag("private root key in PEM", { isRequired: true }),
          ...bundleVersionFlag("if the bundle has none"),
          ...OUTPUT_FILE,
        },
        run: async ({ flags }) =>
          (await import("./trust/publish-bundle.ts")).trustSign(parts.terminal, flags()),
      },
      {
        usage: "publish",
        description: "publish a bundle, signed already or with --key as the next version",
        flags: {
          ...fileFlag("the bundle"),
          ...keyFlag("private root key in PEM"),
          ...bundleVersionFlag("if the next version cannot be read from the broker"),
        },
        run: async ({ flags }) =>
          (await import("./trust/publish-bundle.ts")).trustPublish(parts, flags()),
      },
    ],
  };
}

function documentVerbs(parts: FleetParts): readonly Verb[] {
  return [
    {
      usage: "apply",
      description: "publish the complete set of objects of a node or a group",
      flags: {
        ...TARGET_FLAGS,
        ...keyFlag("private key in PEM that signs it"),
        "--epoch <epoch>": "epoch of the document, if not that of the nodes",
        "--wait": "show the progress of the nodes, until each is Healthy or has failed",
        ...timeoutFlag(APPLY_TIMEOUT, "how long to wait"),
        "--allow-empty": "publish even if no pod remains",
        "--allow-plain-secrets": "publish even if a Secret can be read by the whole group",
        ...SEAL_FLAGS,
        "--dry-run": "show what would change, publish nothing",
      },
      run: async ({ flags }) => (await import("./document/apply.ts")).apply(parts, flags()),
    },
    {
      usage: "diff",
      description: "show what apply would change",
      flags: { ...TARGET_FLAGS, "--exit-code": "end with 1 if something would change" },
      run: async ({ flags }) => (await import("./document/apply.ts")).diff(parts, flags()),
    },
  ];
}

function sealVerbs(parts: FleetParts): readonly Verb[] {
  return [
    {
      usage: "seal",
      description:
        "seal Secrets to the keys of a node or of the nodes of a group; what it writes goes into git and into -f of apply",
      flags: { ...TARGET_FLAGS, ...KEYS_FLAG, ...OUTPUT_FILE },
      run: async ({ flags }) => (await import("./seal/seal.ts")).seal(parts, flags()),
    },
    {
      usage: "keys",
      description: "show the fingerprints of the nodes' keys, and accept those that were compared",
      flags: {
        ...KEYS_FLAG,
        "--accept <nodes>": listFlag("nodes whose keys were compared at the device"),
        "--accept-new": "accept the keys of all nodes that have none yet, without a comparison",
      },
      run: async ({ flags }) => (await import("./seal/keys.ts")).keys(parts, flags()),
    },
  ];
}

function getVerb(parts: FleetParts): Verb {
  return {
    usage: "get",
    description: "show the nodes, pods or events of the fleet",
    verbs: [
      {
        usage: "nodes",
        aliases: ["node", "no"],
        description: "all nodes",
        flags: OUTPUT,
        run: async ({ flags }) => (await import("./get.ts")).getNodes(parts, flags()),
      },
      {
        usage: "pods",
        aliases: ["pod", "po"],
        description: "all pods of all nodes, as reported",
        flags: OUTPUT,
        run: async ({ flags }) => (await import("./get.ts")).getPods(parts, flags()),
      },
      {
        usage: "events",
        aliases: ["event", "ev"],
        description: "new events as they are published; a broker stores none",
        flags: {
          ...OUTPUT,
          "-w, --watch": "until Ctrl-C",
          ...timeoutFlag(EVENTS_TIMEOUT, "how long to listen without --watch"),
        },
        run: async ({ flags }) => (await import("./get.ts")).getEvents(parts, flags()),
      },
    ],
  };
}

function statusVerb(parts: FleetParts): Verb {
  return {
    usage: "status",
    description: "one line per node: its state, and the state of its documents",
    run: async ({ flags }) => (await import("./get.ts")).status(parts, flags()),
  };
}

function exporterVerb(parts: FleetParts): Verb {
  return {
    usage: "exporter",
    description: "serve the metrics of the fleet to Prometheus, until Ctrl-C",
    flags: {
      "--listen <address>": { description: "address and port", default: "127.0.0.1:9460" },
      "--token-file <file>":
        "file with the token that a scrape must send; required if other machines can reach the address",
      "--per-node": "also two series for each node",
    },
    run: async ({ flags }) => (await import("./exporter/exporter.ts")).exportFleet(parts, flags()),
  };
}

function forgetVerb(parts: FleetParts): Verb {
  return {
    usage: "forget <node>",
    description: "clear the retained topics of a node that no longer exists",
    flags: { "--yes": "confirm", "--force": "even if the node is online" },
    run: async ({ args: [node = ""], flags }) =>
      (await import("./forget.ts")).forget(parts, node, flags()),
  };
}
