// Performs: from the files of an operator to the document that the broker retains: composed, judged as a node would, signed,
// published and read back.

import type { Terminal } from "../../cli/process-io.ts";
import { DOCUMENT_LIMITS } from "../../api/yaml/text-limits.ts";
import { CliError, UsageError } from "../../cli/exit-codes.ts";
import { printable } from "../../cli/terminal-text.ts";
import { rfc3339 } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { JsonObject } from "../../lib/json.ts";
import { digestOf } from "../../protocol/dsse.ts";
import {
  composeDocument,
  sourceOf,
  type FleetTarget,
  type WrittenInput,
} from "./compose-document.ts";
import { judgeApply, applyWarnings } from "./validate-document.ts";
import { nextVersion, type NextVersion } from "./next-generation.ts";
import type { Fleet } from "../open-broker.ts";
import { recipientsOf } from "../seal/recipients.ts";
import { sealInput } from "../seal/seal-secret.ts";
import { signMessage, type Signer } from "../trust/signing-keys.ts";
import type { Published } from "./apply-progress.ts";
import { jsonBytes } from "../../protocol/wire-text.ts";
import { sha256 } from "../../lib/system-sha256.ts";
import type { TargetBefore } from "./target.ts";

/** What a person asks of a document beside its content. */
export interface DocumentFlags {
  readonly epoch?: string;
  readonly allowEmpty?: boolean;
  readonly allowPlainSecrets?: boolean;
  /** Each Secret becomes a SealedSecret for the nodes of the target. */
  readonly seal?: boolean;
  /** With the accepted keys of nodes. */
  readonly keys: string;
}

export interface DocumentOrder extends DocumentFlags {
  readonly input: WrittenInput;
  readonly target: FleetTarget;
  readonly before: TargetBefore;
  readonly signers: readonly Signer[];
  readonly random: Random;
}

export interface PreparedDocument {
  readonly document: JsonObject;
  /** As it is published. */
  readonly message: Uint8Array;
  readonly published: Published;
}

/** Prints warnings. Throws UsageError when no node would take it, CliError when it can have no version. */
export function prepareDocument(order: DocumentOrder, terminal: Terminal): PreparedDocument {
  const { input, target, before, signers } = order;
  const version = decideVersion(before, target, epochOf(input, order));
  const { epoch, generation } = version;
  const allowEmpty = order.allowEmpty === true;
  const issuedAt = rfc3339(terminal.clock.now());
  const shut = order.seal === true ? sealed(order, terminal) : input;
  const document = composeDocument({ input: shut, target, ...version, issuedAt, allowEmpty });
  const payload = jsonBytes(document);
  const judged = judgeApply({
    target,
    generation,
    payload,
    objects: input.objects,
    published: shut.objects,
    signed: signers.length > 0,
    mustSeal: order.seal === true,
    allowPlainSecrets: order.allowPlainSecrets === true,
    sha256,
  });
  warn(terminal, judged.warnings);
  if (judged.errors.length > 0)
    throw new UsageError(`nothing was published:\n  ${judged.errors.join("\n  ")}`);
  const message = signed(payload, signers);
  const kind = { isSigned: signers.length > 0, isForNode: "node" in target };
  warn(terminal, applyWarnings(before.retained, document, kind));
  const digest = digestOf(payload, sha256);
  return { document, message, published: { source: sourceOf(target), epoch, generation, digest } };
}

/** Throws CliError that names each node without an accepted key. */
function sealed(
  { input, target, before, keys, random }: DocumentOrder,
  terminal: Terminal,
): WrittenInput {
  const recipients = recipientsOf(before.nodes, keys, terminal);
  return sealInput(input, { target, recipients, random });
}

/** Throws CliError when another operator was faster. */
export async function publishDocument(
  fleet: Fleet,
  { topic, rivals }: TargetBefore,
  { message, published }: PreparedDocument,
): Promise<void> {
  rivals.refuseChange();
  await fleet.session.publish(topic, message, true);
  await rivals.readBack(published);
}

function warn(terminal: Terminal, warnings: readonly string[]): void {
  for (const warning of warnings) terminal.err(`warning: ${printable(warning)}\n`);
}

/** The epoch that a person asks for. */
function epochOf({ document }: WrittenInput, { epoch }: DocumentFlags): string | undefined {
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
