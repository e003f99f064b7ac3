// Performs: `agent fleet apply` and `diff`: composes, signs and publishes a document for a node or group, and follows how its
// nodes apply it; or shows what it would change.

import type { Terminal } from "../../cli/process-io.ts";
import { DOCUMENT_LIMITS } from "../../api/yaml/text-limits.ts";
import { CliError, UsageError } from "../../cli/exit-codes.ts";
import { printable } from "../../cli/terminal-text.ts";
import { rfc3339 } from "../../lib/clock.ts";
import { digestOf } from "../../protocol/dsse.ts";
import {
  composeDocument,
  sourceOf,
  targetName,
  type FleetTarget,
  type WrittenInput,
} from "./compose-document.ts";
import { changeLines } from "./diff.ts";
import { judgeApply, applyWarnings } from "./validate-document.ts";
import { nextVersion, type NextVersion } from "./next-generation.ts";
import { openFleet, type BrokerFlags, type FleetParts } from "../open-broker.ts";
import { readInput } from "../read-input.ts";
import { readSigner, signMessage, type Signer } from "../trust/signing-keys.ts";
import type { Published } from "./apply-progress.ts";
import { waitForNodes } from "./wait.ts";
import { jsonBytes } from "../../protocol/wire-text.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import { type TargetFlags, chooseTarget, type TargetBefore, readTarget } from "./target.ts";

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
  const names = nodes.map(({ name }) => name);
  const { timeout } = flags;
  const undisputed = rivals.watch(published);
  if (flags.wait !== true) {
    await undisputed;
    return 0;
  }
  const waiting = waitForNodes({ fleet, terminal, published, names, timeout });
  const [code] = await Promise.all([waiting, undisputed]);
  return code;
}

function warn(terminal: Terminal, warnings: readonly string[]): void {
  for (const warning of warnings) terminal.err(`warning: ${printable(warning)}\n`);
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
