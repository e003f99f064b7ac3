// The payload of a TrustBundle → who may sign what, or every error at once (MQTT.md §2).
// Strict: a restriction that is misspelt would give its key more than was meant.

import { bytesOfBase64 } from "../api/validation/base64.ts";
import {
  integerField,
  invalid,
  isUnwritten,
  objectList,
  required,
  stringField,
  stringList,
  unknownField,
  type Node,
} from "../api/decode/field-reader.ts";
import { Findings } from "../api/decode/field-errors.ts";
import { isTopicName } from "./mqtt-topics.ts";
import { timeField } from "../api/validation/time-field.ts";
import type { PublicKey, SigningKey, SigningRole, TrustBundle } from "./trust-bundle.ts";
import { DOCUMENT_LIMITS } from "../api/yaml/text-limits.ts";
import { decodeText, readDocuments } from "../api/yaml/yaml-documents.ts";
import { failed, ok, type FieldError, type Result } from "../lib/result.ts";
import { isJsonObject } from "../lib/json.ts";

const BUNDLE_FIELDS = ["version", "notBefore", "root", "keys"];
const KEY_FIELDS = ["pub", "roles", "nodes", "groups"];
const ROLES: readonly SigningRole[] = ["desired", "rollout", "command"];
const PUBLIC_KEY_BYTES = 32;
const PUBLIC_KEY = `must be a public Ed25519 key: ${PUBLIC_KEY_BYTES} bytes in base64`;
/** Letters of node names, and the star. */
const NODE_GLOB = /^[a-z0-9.*-]{1,253}$/;

/** Never throws, whatever the bytes are. */
export function decodeTrustBundle(payload: Uint8Array): Result<TrustBundle> {
  const text = decodeText(payload);
  if (!text.ok) return failed(text.errors.map(asPayloadError));
  const { documents, errors } = readDocuments(text.value, DOCUMENT_LIMITS);
  const [document, second] = documents;
  if (errors.length > 0 || document === undefined) return failed(errors.map(asPayloadError));
  const findings = new Findings({ locate: document.locate, lenient: false });
  if (!isJsonObject(document.value) || second !== undefined) {
    findings.fail([], "Invalid", "must be one object {version, notBefore, root, keys}");
    return failed(findings.errors);
  }
  return readBundle({ findings, path: [], value: document.value });
}

function readBundle(node: Node): Result<TrustBundle> {
  onlyKnown(node, BUNDLE_FIELDS);
  const version = readVersion(node);
  const notBefore = timeField(node, "notBefore");
  const root = publicKeys(node);
  if (isUnwritten(node, "keys")) required(node, "keys", "the list of keys that sign documents");
  const keys = objectList(node, "keys").map(readKey);
  const { errors } = node.findings;
  if (errors.length > 0) return failed(errors);
  return ok({ version, ...(notBefore === undefined ? {} : { notBefore }), root, keys });
}

function readVersion(node: Node): number {
  const version = integerField(node, "version");
  if (version === undefined && isUnwritten(node, "version"))
    required(node, "version", "an integer of at least 1, higher with every change");
  if (version !== undefined && version < 1) invalid(node, "version", "must be at least 1");
  return version ?? 0;
}

function publicKeys(node: Node): readonly PublicKey[] {
  if (isUnwritten(node, "root")) required(node, "root", "the keys that sign the next TrustBundle");
  const written = stringList(node, "root");
  if (Array.isArray(node.value["root"]) && written.length === 0)
    invalid(node, "root", "must name at least one key, or nobody could ever change it again");
  return written.map((text, index) => {
    const key = publicKeyOf(text);
    if (key === undefined) node.findings.fail([...node.path, "root", index], "Invalid", PUBLIC_KEY);
    return key ?? new Uint8Array();
  });
}

function readKey(node: Node): SigningKey {
  onlyKnown(node, KEY_FIELDS);
  const text = stringField(node, "pub");
  const pub = text === undefined ? undefined : publicKeyOf(text);
  if (text === undefined && isUnwritten(node, "pub")) required(node, "pub", "its public key");
  if (text !== undefined && pub === undefined) invalid(node, "pub", PUBLIC_KEY);
  const scope = {
    nodes: scopeList(node, "nodes", (name) => NODE_GLOB.test(name)),
    groups: scopeList(node, "groups", isTopicName),
  };
  return {
    pub: pub ?? new Uint8Array(),
    roles: readRoles(node),
    ...(scope.nodes === undefined ? {} : { nodes: scope.nodes }),
    ...(scope.groups === undefined ? {} : { groups: scope.groups }),
  };
}

function readRoles(node: Node): readonly SigningRole[] {
  const written = stringList(node, "roles");
  if (written.length === 0 && (isUnwritten(node, "roles") || Array.isArray(node.value["roles"])))
    required(node, "roles", `at least one of ${ROLES.join(", ")}`);
  return written.flatMap((text, index) => {
    const role = ROLES.find((one) => one === text);
    if (role !== undefined) return [role];
    const message = `Unsupported value: supported values: ${ROLES.join(", ")}`;
    node.findings.fail([...node.path, "roles", index], "Invalid", message);
    return [];
  });
}

/** undefined = not written, which means all; an empty list means none. */
function scopeList(
  node: Node,
  key: "nodes" | "groups",
  isValid: (name: string) => boolean,
): readonly string[] | undefined {
  if (node.value[key] === undefined || node.value[key] === null) return undefined;
  return stringList(node, key).map((name, index) => {
    const what =
      key === "nodes" ? "a name of nodes, in which * is any text" : "the name of a group";
    if (!isValid(name))
      node.findings.fail([...node.path, key, index], "Invalid", `must be ${what}`);
    return name;
  });
}

function onlyKnown(node: Node, known: readonly string[]): void {
  for (const key of Object.keys(node.value)) {
    if (known.includes(key)) continue;
    node.findings.fail([...node.path, key], "UnknownField", unknownField(key, known));
  }
}

function publicKeyOf(text: string): PublicKey | undefined {
  const bytes = bytesOfBase64(text);
  return bytes?.length === PUBLIC_KEY_BYTES ? bytes : undefined;
}

function asPayloadError(error: FieldError): FieldError {
  return { ...error, message: error.message.replace(/^the file /, "the TrustBundle ") };
}
