// Judges an object as its file will be judged: the text is read by the reader of manifest files, with its messages.

import { decodeManifest } from "../../../api/decode/decode-manifest.ts";
import type { DecodedItem, DecodedObject } from "../../../api/decode/decode-context.ts";
import type { DesiredPod, Rejection } from "../../../api/pod/desired-pod.ts";
import { reservedError } from "../../../api/pod/node-config-map.ts";
import type { DesiredObject } from "../../../api/v1/object/local-object.ts";
import { POD_SPEC } from "../../../api/v1/pod-spec.ts";
import { FILE_LIMITS } from "../../../api/yaml/text-limits.ts";
import { manifestText } from "../../../api/yaml/write-yaml.ts";
import { canonicalJson, type JsonObject } from "../../../lib/json.ts";
import type { FieldError } from "../../../lib/result.ts";
import { grouped } from "../../../lib/short-text.ts";
import type { Sha256 } from "../../../lib/system-sha256.ts";
import type { StatusCause } from "../kube-status.ts";
import type { FieldValidation } from "./write-options.ts";
import { withoutFields } from "./written-object.ts";

export type JudgedItem =
  | ({ readonly type: "Pod" } & DecodedItem<DesiredPod>)
  | ({ readonly type: "Object" } & DecodedItem<DesiredObject>);

export interface JudgeContext {
  /** The file that the object is for. */
  readonly path: string;
  readonly nodeName: string;
  readonly clusterDNS: boolean;
  readonly sha256: Sha256;
}

export type Judgement =
  | {
      readonly type: "Accepted";
      readonly item: JudgedItem;
      /** Without unknown fields. */
      readonly object: JsonObject;
      readonly text: string;
      /** About what is written and means nothing here. */
      readonly warnings: readonly string[];
    }
  | { readonly type: "Refused"; readonly errors: readonly FieldError[] };

const COMMENT =
  "Written through the API of this node; kubectl and `agent apply` replace the whole file.";
/** A round finds a hundred unknown fields, and reads the object anew. With more of them it is refused. */
const MAX_ROUNDS = 3;

export function judgeObject(
  object: JsonObject,
  context: JudgeContext,
  fieldValidation: FieldValidation,
): Judgement {
  let kept = object;
  const warnings: string[] = [];
  for (let round = 0; ; round += 1) {
    const text = manifestText(kept, COMMENT);
    const decoded = decode(text, context);
    const unknown = decoded.errors.filter(({ code }) => code === "UnknownField");
    const canDrop = fieldValidation !== "Strict" && round < MAX_ROUNDS;
    if (unknown.length === 0 || !canDrop) return judged(decoded, { object: kept, text, warnings });
    if (fieldValidation === "Warn")
      warnings.push(...unknown.map(({ path }) => `unknown field ${JSON.stringify(path)}`));
    kept = withoutFields(kept, new Set(unknown.map(({ path }) => path)));
  }
}

/** The only object of a text; undefined = there is another number of them. */
export function onlyItem(text: string, context: JudgeContext): JudgedItem | undefined {
  const items = itemsOf(decode(text, context));
  return items.length === 1 ? items[0] : undefined;
}

function decode(text: string, { path: ref, ...context }: JudgeContext): DecodedObject {
  return decodeManifest(text, { source: "file", ref, ...context });
}

function itemsOf({ pods, objects }: DecodedObject): readonly JudgedItem[] {
  return [
    ...pods.map((pod) => ({ type: "Pod" as const, ...pod })),
    ...objects.map((object) => ({ type: "Object" as const, ...object })),
  ];
}

function judged(
  decoded: DecodedObject,
  {
    object,
    text,
    warnings,
  }: Pick<Extract<Judgement, { type: "Accepted" }>, "object" | "text" | "warnings">,
): Judgement {
  const elsewhere = decoded.notices.filter(({ code }) => code === "NotForThisNode");
  const errors: readonly FieldError[] = [...decoded.errors, ...elsewhere];
  if (errors.length > 0) return { type: "Refused", errors };
  const [item] = itemsOf(decoded);
  if (item === undefined)
    return { type: "Refused", errors: [{ path: "", code: "Invalid", message: "is no object" }] };
  const reserved = item.type === "Object" ? reservedError(item.desired.object) : undefined;
  if (reserved !== undefined) return { type: "Refused", errors: [reserved] };
  if (Buffer.byteLength(text) > FILE_LIMITS.bytes) {
    const message = `is larger than ${grouped(FILE_LIMITS.bytes)} bytes as a manifest file`;
    return { type: "Refused", errors: [{ path: "", code: "TooLarge", message }] };
  }
  const notes = decoded.notices.map(({ path, message }) => `${path}: ${message}`);
  return { type: "Accepted", item, object, text, warnings: [...warnings, ...notes] };
}

/**
 * A pod that was read from the API and sent again has its defaults written out. Its identity is made of what is written, so
 * the spelling of before stays where the meaning is the same: the pod is not restarted.
 */
export function keepsMeaning(before: JudgedItem | undefined, now: JudgedItem): boolean {
  if (before?.type !== "Pod" || now.type !== "Pod") return false;
  return specText(before) === specText(now);
}

/** The toleration is one that every pod is shown with. */
function specText({ desired }: Extract<JudgedItem, { type: "Pod" }>): string {
  const { tolerations, ...spec } = desired.pod.spec;
  const own = tolerations.filter(({ key, effect }) => key !== "" || effect !== "NoExecute");
  return canonicalJson(POD_SPEC.write({ ...spec, tolerations: own }));
}

/** k8s: field.ErrorType */
export function causeOf({ path: field, message, code }: FieldError): StatusCause {
  return { reason: reasonOf(code, message), message, field };
}

const CAUSES: Readonly<Record<string, string>> = {
  Required: "FieldValueRequired",
  Duplicate: "FieldValueDuplicate",
  NotSupported: "FieldValueForbidden",
  TooMany: "FieldValueTooMany",
  NameTooLong: "FieldValueTooLong",
};

function reasonOf(code: Rejection["code"], message: string): string {
  if (message.startsWith("Unsupported value")) return "FieldValueNotSupported";
  if (message.startsWith("Forbidden")) return "FieldValueForbidden";
  return CAUSES[code] ?? "FieldValueInvalid";
}

/** k8s: NewInvalid */
export function invalidMessage(kind: string, name: string, errors: readonly FieldError[]): string {
  const lines = errors.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const listed = lines.length === 1 ? (lines[0] ?? "") : `[${lines.join(", ")}]`;
  return `${kind} ${JSON.stringify(name)} is invalid: ${listed}`;
}
