// Payload bytes → the envelope of a DesiredState document; its resources stay as written (MQTT.md §2).

import type { UpdatePolicy } from "../../api/pod/update-policy.ts";
import { isEnvelope } from "../../protocol/dsse.ts";
import type { FieldPath, Locate } from "../../api/decode/field-path.ts";
import {
  booleanField,
  integerField,
  invalid,
  objectField,
  required,
  stringField,
  unknownField,
  type Node,
} from "../../api/decode/field-reader.ts";
import { Findings } from "../../api/decode/field-errors.ts";
import { DOCUMENT_LIMITS } from "../../api/yaml/text-limits.ts";
import { decodeText, readDocuments, type YamlDocument } from "../../api/yaml/yaml-documents.ts";
import type { FieldError } from "../../lib/result.ts";
import { NO_FLEET_WORD, readFleetWord, type FleetWord } from "./membership.ts";
import { readRequires, type Requires } from "./requirements.ts";
import { readTimes, type DocumentTimes } from "./times.ts";
import { DEFAULT_POLICY, readPolicy } from "./update-policy.ts";
import { type JsonObject, isJsonObject } from "../../lib/json.ts";

/** One entry of `resources`, not judged yet. */
export interface WrittenResource {
  readonly index: number;
  readonly value: unknown;
  readonly locate: Locate;
}

export interface Target {
  readonly node?: string;
  readonly group?: string;
  readonly fleet?: string;
}

export interface Envelope extends FleetWord, DocumentTimes {
  readonly target: Target;
  /** "" when absent. */
  readonly epoch: string;
  readonly previousEpoch?: string;
  readonly generation: number;
  readonly requires: Requires;
  readonly policy: UpdatePolicy;
  readonly allowEmpty: boolean;
  readonly resources: readonly WrittenResource[];
  /** What the document asks for and this agent has not learnt: each is a reason for 412. */
  readonly unsupported: readonly FieldError[];
  /** What stops nothing but must be visible. */
  readonly ignored: readonly FieldError[];
}

export type ReadEnvelope =
  | { readonly type: "Envelope"; readonly envelope: Envelope }
  /** A signed envelope where a document should be: nothing inside has been looked at. */
  | { readonly type: "Signed" }
  /** No document at all, only blanks or comments. */
  | { readonly type: "Empty" }
  | {
      readonly type: "Invalid";
      readonly errors: readonly FieldError[];
      /** As far as it could be read. */
      readonly generation?: number;
    };

const RESERVED = ["agent", "config", "sealed"];
const READ_FIELDS = [
  "apiVersion",
  "kind",
  "target",
  "epoch",
  "previousEpoch",
  "generation",
  "issuedAt",
  "expiresAt",
  "requires",
  "policy",
  "allowEmpty",
  "resources",
];
/** What only a node's own document may say of it. */
const OF_THE_NODE = ["groups", "labels"];
const ENVELOPE_FIELDS = [...READ_FIELDS, ...RESERVED, ...OF_THE_NODE];
const MAX_EPOCH_LENGTH = 128;

/** Whose document it is: what a node's says of the node counts, what a group's says is listed as ignored. */
export type DocumentOf = "node" | "group";

/** Never throws, whatever the bytes are. */
export function readEnvelope(payload: Uint8Array, of: DocumentOf = "node"): ReadEnvelope {
  const text = decodeText(payload);
  if (!text.ok) return { type: "Invalid", errors: text.errors.map(asDocumentError) };
  const { documents, errors } = readDocuments(text.value, DOCUMENT_LIMITS);
  if (errors.length > 0 && errors.every((error) => error.code === "Empty"))
    return { type: "Empty" };
  if (errors.length > 0) return { type: "Invalid", errors: errors.map(asDocumentError) };
  const [first, second] = documents;
  if (first === undefined) return { type: "Empty" };
  if (second !== undefined) {
    const message = `holds ${documents.length} documents; put all objects into the resources of one DesiredState`;
    return { type: "Invalid", errors: [{ path: "", code: "Invalid", message }] };
  }
  if (isEnvelope(first.value)) return { type: "Signed" };
  return readDesiredState(first, of);
}

/** The part of an accepted document that says what runs. Whatever else a newer agent would refuse is passed over;
 * `errors` = the list of resources itself cannot be read. */
export function readCheckpoint(
  payload: Uint8Array,
  of: DocumentOf,
): FleetWord &
  DocumentTimes & {
    readonly policy: UpdatePolicy;
    readonly resources: readonly WrittenResource[];
    readonly errors: readonly FieldError[];
  } {
  const nothing = { policy: DEFAULT_POLICY, resources: [], ...NO_FLEET_WORD };
  const text = decodeText(payload);
  if (!text.ok) return { ...nothing, errors: text.errors.map(asDocumentError) };
  const { documents, errors } = readDocuments(text.value, DOCUMENT_LIMITS);
  const [document] = documents;
  if (document === undefined) return { ...nothing, errors: errors.map(asDocumentError) };
  const passedOver = new Findings({ locate: document.locate, lenient: true });
  const findings = new Findings({ locate: document.locate, lenient: true });
  if (!isJsonObject(document.value)) {
    findings.fail([], "Invalid", "must be an object of kind DesiredState");
    return { ...nothing, errors: findings.errors };
  }
  const value = document.value;
  const leniently = { findings: passedOver, path: [], value };
  const policy = readPolicy(leniently, passedOver);
  const word = of === "node" ? readFleetWord(leniently) : NO_FLEET_WORD;
  const resources = readResources({ findings, path: [], value }, document.locate);
  return { ...word, ...readTimes(leniently), policy, resources, errors: findings.errors };
}

function asDocumentError(error: FieldError): FieldError {
  return { ...error, message: error.message.replace(/^the file /, "the document ") };
}

function readDesiredState(document: YamlDocument, of: DocumentOf): ReadEnvelope {
  const findings = new Findings({ locate: document.locate, lenient: false });
  if (!isJsonObject(document.value)) {
    findings.fail([], "Invalid", "must be an object of kind DesiredState");
    return { type: "Invalid", errors: findings.errors };
  }
  const node: Node = { findings, path: [], value: document.value };
  constant(node, "apiVersion", "agent/v1");
  constant(node, "kind", "DesiredState");
  const unsupported = new Findings({ locate: document.locate, lenient: false });
  const generation = positiveInteger(node, "generation");
  const envelope = {
    ...readVersion(node),
    target: readTarget(node),
    requires: readRequires(node, unsupported),
    policy: readPolicy(node, unsupported),
    allowEmpty: booleanField(node, "allowEmpty") ?? false,
    resources: readResources(node, document.locate),
    ...(of === "node" ? readFleetWord(node) : NO_FLEET_WORD),
  };
  const times = readTimes(node);
  readReserved(node, unsupported);
  warnUnknown(node, of);
  if (findings.errors.length > 0 || generation === undefined)
    return {
      type: "Invalid",
      errors: findings.errors,
      ...(generation === undefined ? {} : { generation }),
    };
  return {
    type: "Envelope",
    envelope: {
      ...envelope,
      generation,
      ...times,
      unsupported: unsupported.errors,
      ignored: findings.warnings,
    },
  };
}

function constant(node: Node, key: string, expected: string): void {
  const written = node.value[key];
  if (written === expected) return;
  if (written === undefined || written === null) required(node, key, JSON.stringify(expected));
  else invalid(node, key, `must be ${JSON.stringify(expected)}`);
}

function positiveInteger(node: Node, key: string): number | undefined {
  const value = integerField(node, key);
  if (value === undefined) {
    if (node.value[key] === undefined || node.value[key] === null)
      required(node, key, "an integer of at least 1, higher with every change");
    return undefined;
  }
  if (value >= 1) return value;
  invalid(node, key, "must be at least 1");
  return undefined;
}

function readVersion(node: Node): { readonly epoch: string; readonly previousEpoch?: string } {
  const epoch = epochField(node, "epoch") ?? "";
  const previousEpoch = epochField(node, "previousEpoch");
  return previousEpoch === undefined ? { epoch } : { epoch, previousEpoch };
}

function epochField(node: Node, key: string): string | undefined {
  const epoch = stringField(node, key);
  if (epoch === undefined || epoch.length <= MAX_EPOCH_LENGTH) return epoch;
  invalid(node, key, `must have at most ${MAX_EPOCH_LENGTH} characters`);
  return undefined;
}

/** An unknown kind of target is an error: a document that is meant for somebody else must not run here. */
function readTarget(node: Node): Target {
  const target = objectField(node, "target");
  if (target === undefined) return {};
  const known = ["node", "group", "fleet"];
  for (const key of Object.keys(target.value)) {
    if (known.includes(key)) continue;
    target.findings.fail([...target.path, key], "UnknownField", unknownField(key, known));
  }
  const entries = known.flatMap((key): [string, string][] => {
    const value = stringField(target, key);
    return value === undefined ? [] : [[key, value]];
  });
  return Object.fromEntries(entries);
}

function readResources(node: Node, locate: Locate): readonly WrittenResource[] {
  const written = node.value["resources"];
  if (Array.isArray(written)) return written.map((value: unknown, index) => resource(value, index));
  if (written === undefined || written === null)
    required(node, "resources", "the complete list of objects; [] needs allowEmpty: true");
  else invalid(node, "resources", "must be a list of objects");
  return [];

  function resource(value: unknown, index: number): WrittenResource {
    return {
      index,
      value,
      locate: (path: FieldPath) => locate(["resources", index, ...path]),
    };
  }
}

function readReserved(node: Node, unsupported: Findings): void {
  for (const key of RESERVED) {
    const value = node.value[key];
    if (value === undefined || value === null) continue;
    unsupported.fail([key], "NotSupported", "is reserved and not supported yet; leave it out");
  }
}

function warnUnknown(node: Node, of: DocumentOf): void {
  for (const [key, value] of Object.entries(node.value)) {
    if (of === "group" && OF_THE_NODE.includes(key) && !isBlank(value))
      node.findings.warn([key], "Ignored", "only the document of the node itself may say this");
    if (ENVELOPE_FIELDS.includes(key)) continue;
    node.findings.warn([key], "Ignored", unknownField(key, ENVELOPE_FIELDS));
  }
}

/** Says the same as leaving it out. */
function isBlank(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === null || (isJsonObject(value) && isEmptyObject(value));
}

function isEmptyObject(value: JsonObject): boolean {
  return Object.keys(value).length === 0;
}
