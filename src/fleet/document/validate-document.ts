// What is refused or warned of before a document is published: with the decoder of the nodes, plain Secrets in the document of a
// group, a group that the node leaves.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { FieldError } from "../../lib/result.ts";
import { readEnvelope, type WrittenResource } from "../../source/document/decode.ts";
import {
  conflictsAmong,
  countObjects,
  decodeResources,
  holdsNothing,
  refusedAmong,
} from "../../source/document/resources.ts";
import { errorLine } from "../../cli/terminal-text.ts";
import { targetName, type FleetTarget, type WrittenObject } from "./compose-document.ts";
import { isSealed, namesOf } from "./sealed-object.ts";
import type { DesiredObject } from "../../api/v1/object/local-object.ts";
import type { RetainedDocument } from "./retained-document.ts";
import { type JsonObject, memberOf } from "../../lib/json.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";
import { groupSource } from "../../protocol/desired-document.ts";

export interface ApplyToJudge {
  readonly target: FleetTarget;
  readonly generation: number;
  /** The bytes a node would read. */
  readonly payload: Uint8Array;
  /** As an operator wrote them. */
  readonly objects: readonly WrittenObject[];
  /** The same as they are published: Secrets may be sealed. */
  readonly published: readonly WrittenObject[];
  readonly signed: boolean;
  /** A Secret that is not sealed is an error. */
  readonly mustSeal: boolean;
  readonly allowPlainSecrets: boolean;
  readonly sha256: Sha256;
}

export interface ApplyJudgement {
  /** Sentences; anything here and no node would take it, or none should. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

export function judgeApply(apply: ApplyToJudge): ApplyJudgement {
  const read = readEnvelope(apply.payload, "node" in apply.target ? "node" : "group");
  if (read.type === "Invalid") return { errors: read.errors.map(envelopeLine), warnings: [] };
  if (read.type !== "Envelope") return { errors: ["this is no DesiredState"], warnings: [] };
  const { unsupported, ignored, allowEmpty, resources, sealed } = read.envelope;
  const { rejections, notices, secrets, isNothing } = judgeObjects(apply);
  const empty =
    sealed.length === 0 && (countObjects(resources) === 0 || isNothing) && !allowEmpty
      ? [
          `${isNothing ? "nothing in the document runs on a node" : "the document is empty"}, which would remove everything; add --allow-empty if that is intended`,
        ]
      : [];
  const unsigned =
    sealed.length > 0 && !apply.signed
      ? ["nodes open sealed Secrets of signed documents only; sign it with --key"]
      : [];
  return {
    errors: [...unsupported.map(envelopeLine), ...rejections, ...empty, ...secrets, ...unsigned],
    warnings: [...ignored.map(envelopeLine), ...notices],
  };
}

function judgeObjects(apply: ApplyToJudge): {
  readonly rejections: readonly string[];
  readonly notices: readonly string[];
  readonly secrets: readonly string[];
  /** All objects are of kinds that one node does not run. */
  readonly isNothing: boolean;
} {
  const { target, generation, objects: written, signed, sha256 } = apply;
  const objects = written.filter(({ value }) => !isSealed(value));
  const source = "node" in target ? "mqtt:node" : groupSource(target.group);
  const address = { source, ref: targetName(target), node: "node" in target ? target.node : "" };
  const context = { clusterDNS: true, generation, sha256, lenient: false, signed };
  const decoded = objects.map((object, index) => {
    const resource: WrittenResource = { index, value: object.value, locate: object.locate };
    return decodeResources([resource], { ...context, address: { ...address, ref: object.file } });
  });
  const pods = decoded.flatMap((one) => one.pods);
  const local = decoded.flatMap((one) => one.objects);
  const rejections = [
    ...decoded.flatMap((one) => one.errors),
    ...conflictsAmong(pods, address),
    ...refusedAmong(local, [], address),
  ];
  const secrets = plainSecrets(local, apply);
  const notices = decoded.flatMap((one) => [...one.ignoredKinds, ...one.notices]);
  return {
    rejections: rejections.map(rejectionLine),
    notices: notices.map(rejectionLine),
    secrets,
    isNothing: decoded.length > 0 && decoded.every(holdsNothing),
  };
}

/** Secrets that others would read on the broker. */
function plainSecrets(
  local: readonly DesiredObject[],
  { target, published, mustSeal, allowPlainSecrets }: ApplyToJudge,
): readonly string[] {
  const sealed = new Set(
    published.flatMap(({ value }) => {
      const { namespace, name } = namesOf(value);
      return isSealed(value) ? [`${namespace}/${name}`] : [];
    }),
  );
  const plain = local.flatMap(({ object: { kind, metadata } }) => {
    const name = `${metadata.namespace}/${metadata.name}`;
    return kind === "Secret" && !sealed.has(name) ? [name] : [];
  });
  const why = mustSeal
    ? "it stands in a list, where it is not sealed; write it as an object of its own"
    : "every reader of the group's topic can read it; add --seal, put it into the document of each node, or add --allow-plain-secrets";
  const isRefused = mustSeal || ("group" in target && !allowPlainSecrets);
  return isRefused ? plain.map((name) => `Secret ${name}: ${why}`) : [];
}

function envelopeLine({ path, message }: FieldError): string {
  return path === "" ? message : `${path}: ${message}`;
}

/** `app.yaml:3:5: Pod default/web: spec.x: message`. */
function rejectionLine(rejection: Rejection): string {
  const { ref, kind, namespace, name } = rejection;
  const object =
    name === undefined ? "" : `${kind ?? "object"} ${namespace ?? "default"}/${name}: `;
  return errorLine({ ...rejection, file: ref }, object);
}

/** Sentences. The previous document is not verified: it is only compared, never copied from. */
export function applyWarnings(
  before: RetainedDocument | undefined,
  document: JsonObject,
  { isSigned, isForNode }: { readonly isSigned: boolean; readonly isForNode: boolean },
): readonly string[] {
  if (before === undefined) return [];
  const unsigned =
    before.keyids.length > 0 && !isSigned
      ? "the previous document was signed and this one is not; nodes with keys will answer 401"
      : undefined;
  const kept = new Set(groupsOf(document));
  const named = isForNode ? groupsOf(before.document) : [];
  const left = named.filter((name) => !kept.has(name));
  const leaves =
    left.length > 0
      ? `the node leaves ${left.length === 1 ? "group" : "groups"} ${left.join(", ")} and stops what runs of it; to stay, apply a DesiredState whose groups name it`
      : undefined;
  return [unsigned, leaves].filter((sentence) => sentence !== undefined);
}

function groupsOf(document: JsonObject): readonly string[] {
  const groups: unknown = document["groups"];
  if (!Array.isArray(groups)) return [];
  return groups.flatMap((group: unknown) => {
    const name = memberOf(group, "name");
    return typeof name === "string" ? [name] : [];
  });
}
