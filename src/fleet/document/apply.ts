// Performs: `agent fleet apply` and `diff`: composes, signs and publishes a document for a node or group, follows how its
// nodes apply it, and shows what it would change.

import type { Terminal } from "../../cli/process-io.ts";
import { DOCUMENT_LIMITS } from "../../api/yaml/text-limits.ts";
import { CliError, UsageError } from "../../cli/exit-codes.ts";
import { printable } from "../../cli/terminal-text.ts";
import { rfc3339 } from "../../lib/clock.ts";
import { digestOf } from "../../protocol/dsse.ts";
import { topicFor } from "../../protocol/mqtt-topics.ts";
import {
  composeDocument,
  sourceOf,
  targetName,
  targetOf,
  type FleetTarget,
  type WrittenInput,
} from "./compose-document.ts";
import { diffDocuments, diffLines } from "./diff-documents.ts";
import { readRetained, type RetainedDocument } from "./retained-document.ts";
import { judgeApply, applyWarnings } from "./validate-document.ts";
import { knownNode, membersOf, subscribeNodes, type KnownNode } from "../known-nodes.ts";
import { named, nodeFilters } from "../fleet-topics.ts";
import { nextVersion, type NextVersion } from "./next-generation.ts";
import { openFleet, type BrokerFlags, type Fleet, type FleetParts } from "../open-broker.ts";
import { readInput } from "../read-input.ts";
import { RivalWatch } from "./rival-watch.ts";
import { readSigner, signMessage, type Signer } from "../trust/signing-keys.ts";
import { waitForNodes } from "./wait.ts";
import { jsonBytes } from "../../protocol/wire-text.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { type Published } from "./wait.ts";

interface TargetFlags {
  readonly filename: readonly string[];
  readonly node?: string;
  readonly group?: string;
}

export interface ApplyFlags extends BrokerFlags, TargetFlags {
  readonly key?: readonly string[];
  readonly epoch?: string;
  readonly wait?: boolean;
  /** Ms. */
  readonly timeout: number;
  readonly allowEmpty?: boolean;
  readonly allowPlainSecrets?: boolean;
  readonly dryRun?: boolean;
}

/** The exit code: 1 when a node did not become Healthy. Throws CliError. */
export async function apply(parts: FleetParts, flags: ApplyFlags): Promise<0 | 1> {
  const { terminal } = parts;
  const input = await readInput(flags.filename, terminal);
  const target = chooseTarget(input, flags);
  const signers = (flags.key ?? []).map(readSigner);
  await using fleet = await openFleet(parts, flags);
  const before = await readTarget(fleet, target, terminal);
  const { retained, rivals, nodes } = before;
  const version = decideVersion(before, target, epochOf(input, flags));
  const { epoch, generation } = version;
  const allowEmpty = flags.allowEmpty === true;
  const issuedAt = rfc3339(terminal.clock.now());
  const document = composeDocument({ input, target, ...version, issuedAt, allowEmpty });
  const payload = jsonBytes(document);
  const judged = judgeApply({
    target,
    generation,
    payload,
    objects: input.objects,
    signed: signers.length > 0,
    allowPlainSecrets: flags.allowPlainSecrets === true,
    sha256,
  });
  warn(terminal, judged.warnings);
  if (judged.errors.length > 0)
    throw new UsageError(`nothing was published:\n  ${judged.errors.join("\n  ")}`);
  const message = signed(payload, signers);
  const digest = digestOf(payload, sha256);
  const kind = { isSigned: signers.length > 0, isForNode: "node" in target };
  warn(terminal, applyWarnings(retained, document, kind));
  if (flags.dryRun === true) {
    for (const line of changeLines(retained, input)) terminal.out(`${printable(line)}\n`);
    terminal.out(`would be generation ${generation} of ${targetName(target)}, ${digest}\n`);
    return 0;
  }
  const published: Published = { source: sourceOf(target), epoch, generation, digest };
  rivals.refuseChange();
  await fleet.session.publish(before.topic, message, true);
  await rivals.readBack(published);
  terminal.out(`generation ${generation} of ${targetName(target)} is published, ${digest}\n`);
  if (flags.wait !== true) return 0;
  const names = nodes.map(({ name }) => name);
  return await waitForNodes({ fleet, terminal, published, names, timeout: flags.timeout });
}

function warn(terminal: Terminal, warnings: readonly string[]): void {
  for (const warning of warnings) terminal.err(`warning: ${printable(warning)}\n`);
}

function chooseTarget(input: WrittenInput, flags: TargetFlags): FleetTarget {
  const { node, group } = flags;
  const own = targetOf(input.document);
  if (node !== undefined && group !== undefined)
    throw new UsageError("--node and --group exclude each other: a document has one target");
  const asked = node !== undefined ? { node } : group !== undefined ? { group } : own;
  if (asked === undefined)
    throw new UsageError(
      "the document has no target; name a node with --node or a group with --group",
    );
  named("node" in asked ? asked.node : asked.group);
  if (own !== undefined && targetName(own) !== targetName(asked))
    throw new UsageError(`the document is for ${targetName(own)}, not for ${targetName(asked)}`);
  return asked;
}

interface TargetBefore {
  readonly topic: string;
  readonly retained: RetainedDocument | undefined;
  /** Watches what others publish since then. */
  readonly rivals: RivalWatch;
  /** The target nodes, as far as they are known. */
  readonly nodes: readonly KnownNode[];
}

/** Reads the retained document of the target and the reports of its nodes. */
async function readTarget(
  fleet: Fleet,
  target: FleetTarget,
  terminal: Terminal,
): Promise<TargetBefore> {
  const { session, root } = fleet;
  const isNode = "node" in target;
  const topic = isNode
    ? topicFor({ type: "NodeDesired", root, node: target.node })
    : topicFor({ type: "GroupDesired", root, group: target.group });
  const ofNode = isNode ? nodeFilters(root, [target.node], ["state", "reported"]) : [];
  await session.subscribe([topic, ...ofNode]);
  const retained = readRetained(session.latest.get(topic), sha256);
  const rivals = new RivalWatch(session, topic);
  if (isNode) return { topic, retained, rivals, nodes: [knownNode(fleet, target.node)] };
  await subscribeNodes(fleet, ["state", "reported"], terminal);
  return { topic, retained, rivals, nodes: membersOf(target.group, fleet) };
}

/** The epoch that a person asks for. */
function epochOf({ document }: WrittenInput, { epoch }: ApplyFlags): string | undefined {
  const written = document?.["epoch"];
  return epoch ?? (typeof written === "string" ? written : undefined);
}

function decideVersion(
  { retained, nodes }: TargetBefore,
  target: FleetTarget,
  asked: string | undefined,
): Extract<NextVersion, { ok: true }> {
  const accepted = nodes.flatMap(({ name, report }) => {
    const ack = report?.desired.find(({ source }) => source === sourceOf(target));
    return ack === undefined ? [] : [{ ...ack, of: `node ${name}` }];
  });
  const version = nextVersion({
    retained: retained === undefined ? undefined : { of: "the retained document", ...retained },
    nodes: accepted,
    ...(asked === undefined ? {} : { epoch: asked }),
  });
  if (!version.ok) throw new CliError(version.why);
  return version;
}

function signed(payload: Uint8Array, signers: readonly Signer[]): Uint8Array {
  const message = signers.length === 0 ? payload : signMessage("desired", payload, signers);
  if (message.length <= DOCUMENT_LIMITS.bytes) return message;
  const how = signers.length === 0 ? "" : " once signed";
  throw new UsageError(
    `the document has ${message.length} bytes${how}, at most ${DOCUMENT_LIMITS.bytes} are accepted; make it smaller`,
  );
}

function changeLines(
  retained: RetainedDocument | undefined,
  input: WrittenInput,
): readonly string[] {
  const after = input.objects.map(({ value }) => value);
  return diffLines(diffDocuments(retained?.resources ?? [], after));
}

export interface DiffFlags extends BrokerFlags, TargetFlags {
  readonly exitCode?: boolean;
}

/** The exit code: 1 for a difference with --exit-code. */
export async function diff(parts: FleetParts, flags: DiffFlags): Promise<0 | 1> {
  const { terminal } = parts;
  const input = await readInput(flags.filename, terminal);
  const target = chooseTarget(input, flags);
  await using fleet = await openFleet(parts, flags);
  const { retained } = await readTarget(fleet, target, terminal);
  const lines = changeLines(retained, input);
  const version = retained === undefined ? "no document" : `generation ${retained.generation}`;
  terminal.err(`${targetName(target)} has ${version} on the broker\n`);
  for (const line of lines) terminal.out(`${printable(line)}\n`);
  if (lines.length === 0) terminal.err("nothing would change\n");
  return flags.exitCode === true && lines.length > 0 ? 1 : 0;
}
