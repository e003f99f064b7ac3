// A ConfigMap, Secret or claim as written → a defaulted object, or every error at once.

import { checkApiVersion } from "../api-version.ts";
import { applyRewrites } from "../../yaml/apply-rewrites.ts";
import { decodeClaim } from "./decode-claim.ts";
import { decodeConfigMap } from "./decode-config-map.ts";
import { OBJECT_METADATA, type WrittenMetadata } from "../../v1/metadata.ts";
import { decodeSecret } from "./decode-secret.ts";
import { checkFields, isUnwritten, objectField, required, type Node } from "../field-reader.ts";
import { Findings, type FindingsBudget } from "../field-errors.ts";
import type { Locate } from "../field-path.ts";
import type { LocalObject, LocalObjectKind } from "../../v1/local-object.ts";
import { unknownFieldsOf } from "../../pod/pod-annotations.ts";
import type { Level } from "../../schema/field.ts";
import { CLAIM, CONFIG_MAP, SECRET } from "../../schema/local-objects.ts";
import { failed, ok, type Result } from "../../../lib/result.ts";
import { type JsonObject, isJsonObject } from "../../../lib/json.ts";

/** kubectl's copy of the whole object, a Secret's content included. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

export interface LocalObjectContext {
  /** Takes whatever has a name and judges nothing: for checkpoints. */
  readonly lenient?: boolean;
  readonly locate?: Locate;
  /** Of the file or document that it stands in. */
  readonly budget?: FindingsBudget;
}

export interface DecodedLocal {
  readonly object: LocalObject;
  /** The whole object as written. */
  readonly written: JsonObject;
}

interface Decoder {
  readonly level: Level;
  readonly decode: (root: Node, metadata: WrittenMetadata) => LocalObject;
}

const DECODERS: Readonly<Record<LocalObjectKind, Decoder>> = {
  ConfigMap: { level: CONFIG_MAP, decode: decodeConfigMap },
  Secret: { level: SECRET, decode: decodeSecret },
  PersistentVolumeClaim: { level: CLAIM, decode: decodeClaim },
};

export function isLocalKind(kind: unknown): kind is LocalObjectKind {
  return typeof kind === "string" && Object.hasOwn(DECODERS, kind);
}

/** Never throws for JSON data of bounded depth. No message holds anything of a Secret's content. */
export function decodeLocalObject(
  value: JsonObject,
  kind: LocalObjectKind,
  context: LocalObjectContext,
): Result<DecodedLocal> {
  const lenient = context.lenient ?? false;
  const locate = context.locate ?? (() => undefined);
  const { budget } = context;
  const unknownFields = unknownFieldsOf(value);
  const findings = new Findings({ locate, lenient, unknownFields, budget });
  const root: Node = { findings, path: [], value };
  const { level, decode } = DECODERS[kind];
  checkFields(root, level);
  checkApiVersion(root);
  const metadata = objectField(root, "metadata");
  if (metadata === undefined) {
    if (isUnwritten(root, "metadata")) required(root, "metadata");
    return failed(findings.errors);
  }
  const meta = OBJECT_METADATA.read(withoutCopy(metadata));
  if (meta === undefined) return failed(findings.errors);
  const object = decode(root, meta);
  const usable = lenient ? object.metadata.name !== "" : findings.errors.length === 0;
  if (!usable) return failed(findings.errors);
  return ok({ object, written: applyRewrites(value, findings) }, findings.warnings);
}

/** Left out before anything reads it: nothing of it may be shown. */
function withoutCopy(metadata: Node): Node {
  const written = metadata.value["annotations"];
  // A slip of the pen in that line makes a text of all annotations.
  if (typeof written === "string" && written !== "")
    return { ...metadata, value: { ...metadata.value, annotations: "<annotations redacted>" } };
  if (!isJsonObject(written) || !Object.hasOwn(written, LAST_APPLIED)) return metadata;
  const annotations = Object.fromEntries(
    Object.entries(written).filter(([key]) => key !== LAST_APPLIED),
  );
  return { ...metadata, value: { ...metadata.value, annotations } };
}
