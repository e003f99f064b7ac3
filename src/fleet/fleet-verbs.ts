// Performs: the verbs of `agent fleet` and their flags: an operator's side, which talks to the broker only (MQTT.md
// §8).

import { Option, type Command } from "commander";
import type { Terminal } from "../cli/terminal.ts";
import { systemRandom } from "../lib/system-clock.ts";
import type { Random } from "../lib/random.ts";
import { MqttjsLink } from "../mqtt/mqttjs-link.ts";
import type { MqttLink } from "../mqtt/mqtt-link.ts";
import type { ApplyFlags } from "./document/apply.ts";
import type { DiffFlags } from "./document/diff.ts";
import { addCommandVerbs } from "./command-verbs.ts";
import type { ForgetFlags } from "./forget.ts";
import type { GetEventsFlags, GetFlags } from "./get.ts";
import type { KeygenFlags } from "./trust/keygen.ts";
import type { BrokerFlags } from "./open-broker.ts";
import type { SignFlags } from "./document/sign.ts";
import type { TrustFlags, TrustSignFlags } from "./trust/trust.ts";
import { collect, timeoutOption, wholeNumber, type VerbParts } from "./verb-options.ts";

export interface FleetVerbsOptions {
  readonly terminal: Terminal;
  readonly done: (code: number) => void;
  /** Absent = the real broker. */
  readonly link?: MqttLink;
  readonly random?: Random;
}

const ROLES = ["desired", "rollout", "command"];
const APPLY_TIMEOUT = "15m";
const EVENTS_TIMEOUT = "15s";

export function addFleetVerbs(fleet: Command, options: FleetVerbsOptions): void {
  const { terminal, done, link = realLink(), random = systemRandom } = options;
  const parts: VerbParts = { terminal, done, link, random };
  fleet
    .option("--url <url>", "the broker: mqtt://, mqtts://, ws:// or wss://")
    .option("--username <name>", "for the broker")
    .option("--password-file <file>", "holds the password for the broker")
    .option("--ca-file <file>", "certificates that vouch for the broker")
    .option("--cert-file <file>", "our certificate")
    .option("--key-file <file>", "its private key")
    .option("--topic-root <levels>", "as in the configuration of the nodes (default agent/v1)")
    .option("--nodes <file>", "names broker, nodes and groups (AGENT_FLEET; default ./fleet.yaml)");
  addKeygen(fleet, parts);
  addSign(fleet, parts);
  addTrust(fleet, parts);
  addApply(fleet, parts);
  addDiff(fleet, parts);
  addGet(fleet, parts);
  addStatus(fleet, parts);
  addCommandVerbs(fleet, parts);
  addForget(fleet, parts);
}

function realLink(): MqttLink {
  // The MQTT library reads addresses in the old way, about which an operator can do nothing.
  process.noDeprecation = true;
  return new MqttjsLink();
}

function addKeygen(fleet: Command, { terminal, done }: VerbParts): void {
  fleet
    .command("keygen")
    .description("make a root key, a signing key and a first TrustBundle; needs no broker")
    .option("--dir <directory>", "where to put them", ".")
    .option("--roles <roles>", `what the signing key may sign: ${ROLES.join(",")}`, listOf, ROLES)
    .option(
      "--node-globs <globs>",
      "nodes it may speak to, such as pi-*,gw-1 (default all)",
      listOf,
    )
    .option("--groups <groups>", "groups it may speak to (default all)", listOf)
    .action(async (flags: KeygenFlags) => {
      const { keygen } = await import("./trust/keygen.ts");
      done(keygen(terminal, flags));
    });
}

function addSign(fleet: Command, { terminal, done }: VerbParts): void {
  fleet
    .command("sign")
    .description("sign a whole DesiredState, to publish it by other means; needs no broker")
    .requiredOption("-f, --filename <file>", "the document in YAML or JSON, - for standard input")
    .requiredOption("--key <file>", "private key in PEM (repeatable)", collect)
    .option("-o, --output <file>", "default standard output")
    .action(async (flags: SignFlags) => {
      const { signDocument } = await import("./document/sign.ts");
      done(await signDocument(terminal, flags));
    });
}

function addTrust(fleet: Command, parts: VerbParts): void {
  const { terminal, done } = parts;
  const trust = fleet.command("trust").description("who may sign: the TrustBundle of the fleet");
  trust
    .command("sign")
    .description("sign a bundle {version, notBefore, root, keys}; needs no broker")
    .requiredOption("-f, --filename <file>", "the bundle; keys in base64 or as names of .pub files")
    .requiredOption("--key <file>", "private root key in PEM (repeatable)", collect)
    .option("--bundle-version <number>", "where the bundle names none", wholeNumber)
    .option("-o, --output <file>", "default standard output")
    .action(async (flags: TrustSignFlags) => {
      const { trustSign } = await import("./trust/trust.ts");
      done(await trustSign(terminal, flags));
    });
  trust
    .command("publish")
    .description("lay a bundle on the broker, signed already or with --key as the next version")
    .requiredOption("-f, --filename <file>", "the bundle")
    .option("--key <file>", "private root key in PEM (repeatable)", collect)
    .option("--bundle-version <number>", "where nothing on the broker tells the next", wholeNumber)
    .action(async (_flags: unknown, command: Command) => {
      const { trustPublish } = await import("./trust/trust.ts");
      done(await trustPublish(parts, command.optsWithGlobals<TrustFlags & BrokerFlags>()));
    });
}

function addApply(fleet: Command, parts: VerbParts): void {
  targetOptions(fleet.command("apply"))
    .description("publish the complete set of objects of a node or a group")
    .option("--key <file>", "private key in PEM that signs it (repeatable)", collect)
    .option("--epoch <epoch>", "instead of the one that the nodes are in")
    .option("--wait", "show how far the nodes are, until each is Healthy or has failed")
    .addOption(timeoutOption(APPLY_TIMEOUT, "how long to wait"))
    .option("--allow-empty", "publish even if nothing is left to run")
    .option("--allow-plain-secrets", "publish even if a Secret can be read by the whole group")
    .option("--dry-run", "show what would change, publish nothing")
    .action(async (_flags: unknown, command: Command) => {
      const { apply } = await import("./document/apply.ts");
      parts.done(await apply(parts, command.optsWithGlobals<ApplyFlags>()));
    });
}

function addDiff(fleet: Command, parts: VerbParts): void {
  targetOptions(fleet.command("diff"))
    .description("show what apply would change")
    .option("--exit-code", "end with 1 if something would change")
    .action(async (_flags: unknown, command: Command) => {
      const { diff } = await import("./document/diff.ts");
      parts.done(await diff(parts, command.optsWithGlobals<DiffFlags>()));
    });
}

function targetOptions(command: Command): Command {
  return command
    .requiredOption(
      "-f, --filename <file>",
      "pods, ConfigMaps, Secrets and claims, or one DesiredState; - for standard input (repeatable)",
      collect,
    )
    .option("--node <name>", "for this node")
    .option("--group <name>", "for the nodes of this group");
}

function addGet(fleet: Command, parts: VerbParts): void {
  const get = fleet.command("get").description("show the nodes, pods or events of the fleet");
  get
    .command("nodes")
    .aliases(["node", "no"])
    .description("all nodes")
    .addOption(outputOption())
    .action(async (_flags: unknown, command: Command) => {
      const { getNodes } = await import("./get.ts");
      parts.done(await getNodes(parts, command.optsWithGlobals<GetFlags>()));
    });
  get
    .command("pods")
    .aliases(["pod", "po"])
    .description("all pods of all nodes, as reported")
    .addOption(outputOption())
    .action(async (_flags: unknown, command: Command) => {
      const { getPods } = await import("./get.ts");
      parts.done(await getPods(parts, command.optsWithGlobals<GetFlags>()));
    });
  get
    .command("events")
    .aliases(["event", "ev"])
    .description("events as they come: a broker keeps none")
    .addOption(outputOption())
    .option("-w, --watch", "until Ctrl-C")
    .addOption(timeoutOption(EVENTS_TIMEOUT, "how long to listen without --watch"))
    .action(async (_flags: unknown, command: Command) => {
      const { getEvents } = await import("./get.ts");
      parts.done(await getEvents(parts, command.optsWithGlobals<GetEventsFlags>()));
    });
}

function addStatus(fleet: Command, parts: VerbParts): void {
  fleet
    .command("status")
    .description("one line on each node: whether it is there, and how its documents run")
    .action(async (_flags: unknown, command: Command) => {
      const { status } = await import("./get.ts");
      parts.done(await status(parts, command.optsWithGlobals<BrokerFlags>()));
    });
}

function addForget(fleet: Command, parts: VerbParts): void {
  fleet
    .command("forget <node>")
    .description("clear what a node that is gone has left on the broker")
    .option("--yes", "really")
    .option("--force", "even if it is online")
    .action(async (node: string, _flags: unknown, command: Command) => {
      const { forget } = await import("./forget.ts");
      parts.done(await forget(parts, node, command.optsWithGlobals<ForgetFlags>()));
    });
}

function outputOption(): Option {
  return new Option("-o, --output <format>", "how to print it").choices(["wide", "json", "yaml"]);
}

function listOf(written: string): readonly string[] {
  return written
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}
