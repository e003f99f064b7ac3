// Performs: the table of the verbs of `agent fleet`: an operator's side, which talks to the broker only. Each verb loads
// its work when it runs.

import type { Terminal } from "../cli/terminal.ts";
import type { Flag, Verb } from "../cli/verb.ts";
import { systemRandom } from "../lib/system-clock.ts";
import { MqttjsLink } from "../mqtt/mqttjs-link.ts";
import type { MqttLink } from "../mqtt/mqtt-link.ts";
import { commandVerbs } from "./command-verbs.ts";
import type { ApplyFlags, DiffFlags } from "./document/apply.ts";
import type { SignFlags } from "./document/sign.ts";
import type { ForgetFlags } from "./forget.ts";
import type { GetEventsFlags, GetFlags } from "./get.ts";
import type { BrokerFlags, FleetParts } from "./open-broker.ts";
import type { KeygenFlags } from "./trust/keygen.ts";
import type { TrustFlags, TrustSignFlags } from "./trust/trust.ts";
import { bundleVersionFlag, keyFlag, listOf, timeoutFlag } from "./verb-options.ts";

const ROLES = ["desired", "rollout", "command"];
const APPLY_TIMEOUT = "15m";
const EVENTS_TIMEOUT = "15s";

const BROKER_FLAGS: readonly Flag[] = [
  { usage: "--url <url>", description: "the broker: mqtt://, mqtts://, ws:// or wss://" },
  { usage: "--username <name>", description: "user name for the broker" },
  { usage: "--password-file <file>", description: "file with the password for the broker" },
  {
    usage: "--ca-file <file>",
    description: "CA certificates that the broker's certificate is checked against",
  },
  { usage: "--cert-file <file>", description: "client certificate" },
  { usage: "--key-file <file>", description: "private key of the client certificate" },
  {
    usage: "--topic-root <levels>",
    description: "as in the configuration of the nodes (default agent/v1)",
  },
  {
    usage: "--nodes <file>",
    description: "file with broker, nodes and groups (AGENT_FLEET; default ./fleet.yaml)",
  },
];

const TARGET_FLAGS: readonly Flag[] = [
  {
    usage: "-f, --filename <file>",
    description:
      "pods, ConfigMaps, Secrets and claims, or one DesiredState; - for standard input (repeatable)",
    isRequired: true,
    isRepeatable: true,
  },
  { usage: "--node <name>", description: "for this node" },
  { usage: "--group <name>", description: "for the nodes of this group" },
];

const OUTPUT: Flag = {
  usage: "-o, --output <format>",
  description: "output format",
  choices: ["wide", "json", "yaml"],
};

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
      trustVerb(parts),
      ...documentVerbs(parts),
      getVerb(parts),
      statusVerb(parts),
      ...commandVerbs(parts),
      forgetVerb(parts),
    ],
  };
}

function realLink(): MqttLink {
  // The MQTT library parses addresses with a deprecated API, and the warning is of no use to an operator.
  process.noDeprecation = true;
  return new MqttjsLink();
}

function offlineVerbs({ terminal }: FleetParts): readonly Verb[] {
  return [
    {
      usage: "keygen",
      description: "make a root key, a signing key and a first TrustBundle; needs no broker",
      flags: [
        { usage: "--dir <directory>", description: "directory for the new files", default: "." },
        {
          usage: "--roles <roles>",
          description: `what the signing key may sign: ${ROLES.join(",")}`,
          parse: listOf,
          default: ROLES,
        },
        {
          usage: "--node-globs <globs>",
          description: "nodes it may sign for, such as pi-*,gw-1 (default all)",
          parse: listOf,
        },
        {
          usage: "--groups <groups>",
          description: "groups it may sign for (default all)",
          parse: listOf,
        },
      ],
      run: async ({ flags }) => {
        const { keygen } = await import("./trust/keygen.ts");
        return keygen(terminal, flags<KeygenFlags>());
      },
    },
    {
      usage: "sign",
      description: "sign a whole DesiredState, to publish it by other means; needs no broker",
      flags: [
        {
          usage: "-f, --filename <file>",
          description: "the document in YAML or JSON, - for standard input",
          isRequired: true,
        },
        keyFlag("private key in PEM (repeatable)", { isRequired: true }),
        { usage: "-o, --output <file>", description: "output file (default standard output)" },
      ],
      run: async ({ flags }) => {
        const { signDocument } = await import("./document/sign.ts");
        return signDocument(terminal, flags<SignFlags>());
      },
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
        flags: [
          {
            usage: "-f, --filename <file>",
            description: "the bundle; keys in base64 or as names of .pub files",
            isRequired: true,
          },
          keyFlag("private root key in PEM (repeatable)", { isRequired: true }),
          bundleVersionFlag("if the bundle has none"),
          { usage: "-o, --output <file>", description: "output file (default standard output)" },
        ],
        run: async ({ flags }) => {
          const { trustSign } = await import("./trust/trust.ts");
          return trustSign(parts.terminal, flags<TrustSignFlags>());
        },
      },
      {
        usage: "publish",
        description: "publish a bundle, signed already or with --key as the next version",
        flags: [
          { usage: "-f, --filename <file>", description: "the bundle", isRequired: true },
          keyFlag("private root key in PEM (repeatable)"),
          bundleVersionFlag("if the next version cannot be read from the broker"),
        ],
        run: async ({ flags }) => {
          const { trustPublish } = await import("./trust/trust.ts");
          return trustPublish(parts, flags<TrustFlags & BrokerFlags>());
        },
      },
    ],
  };
}

function documentVerbs(parts: FleetParts): readonly Verb[] {
  return [
    {
      usage: "apply",
      description: "publish the complete set of objects of a node or a group",
      flags: [
        ...TARGET_FLAGS,
        keyFlag("private key in PEM that signs it (repeatable)"),
        {
          usage: "--epoch <epoch>",
          description: "epoch of the document, if not that of the nodes",
        },
        {
          usage: "--wait",
          description: "show the progress of the nodes, until each is Healthy or has failed",
        },
        timeoutFlag(APPLY_TIMEOUT, "how long to wait"),
        { usage: "--allow-empty", description: "publish even if no pod remains" },
        {
          usage: "--allow-plain-secrets",
          description: "publish even if a Secret can be read by the whole group",
        },
        { usage: "--dry-run", description: "show what would change, publish nothing" },
      ],
      run: async ({ flags }) => {
        const { apply } = await import("./document/apply.ts");
        return apply(parts, flags<ApplyFlags>());
      },
    },
    {
      usage: "diff",
      description: "show what apply would change",
      flags: [
        ...TARGET_FLAGS,
        { usage: "--exit-code", description: "end with 1 if something would change" },
      ],
      run: async ({ flags }) => {
        const { diff } = await import("./document/apply.ts");
        return diff(parts, flags<DiffFlags>());
      },
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
        flags: [OUTPUT],
        run: async ({ flags }) => {
          const { getNodes } = await import("./get.ts");
          return getNodes(parts, flags<GetFlags>());
        },
      },
      {
        usage: "pods",
        aliases: ["pod", "po"],
        description: "all pods of all nodes, as reported",
        flags: [OUTPUT],
        run: async ({ flags }) => {
          const { getPods } = await import("./get.ts");
          return getPods(parts, flags<GetFlags>());
        },
      },
      {
        usage: "events",
        aliases: ["event", "ev"],
        description: "new events as they are published; a broker stores none",
        flags: [
          OUTPUT,
          { usage: "-w, --watch", description: "until Ctrl-C" },
          timeoutFlag(EVENTS_TIMEOUT, "how long to listen without --watch"),
        ],
        run: async ({ flags }) => {
          const { getEvents } = await import("./get.ts");
          return getEvents(parts, flags<GetEventsFlags>());
        },
      },
    ],
  };
}

function statusVerb(parts: FleetParts): Verb {
  return {
    usage: "status",
    description: "one line per node: its state, and the state of its documents",
    run: async ({ flags }) => {
      const { status } = await import("./get.ts");
      return status(parts, flags<BrokerFlags>());
    },
  };
}

function forgetVerb(parts: FleetParts): Verb {
  return {
    usage: "forget <node>",
    description: "clear the retained topics of a node that no longer exists",
    flags: [
      { usage: "--yes", description: "confirm" },
      { usage: "--force", description: "even if the node is online" },
    ],
    run: async ({ args: [node = ""], flags }) => {
      const { forget } = await import("./forget.ts");
      return forget(parts, node, flags<ForgetFlags>());
    },
  };
}
