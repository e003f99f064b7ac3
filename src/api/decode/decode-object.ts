// One object of a manifest or an MQTT document → the pods and local objects in it, with every error and notice.

import {
  few,
  mergeDecoded,
  NOTHING_DECODED,
  type DecodeContext,
  type DecodedObject,
} from "./decode-context.ts";
import {
  decodedItem,
  decodeOnePod,
  MAX_WORD,
  notices,
  rejected,
  rejections,
} from "./decoded-item.ts";
import { decodeRun } from "./decode-job.ts";
import { decodeService } from "./decode-service.ts";
import { decodeWorkload } from "./decode-workload.ts";
import type { LocalObject, LocalObjectKind } from "../v1/object/local-object.ts";
import type { Rejection } from "../pod/desired-pod.ts";
import { required, type Node } from "./field-reader.ts";
import { Findings, FindingsBudget, invalidValue, locatedError } from "./field-errors.ts";
import type { FieldPath } from "./field-path.ts";
import { isList, itemKind, LIST, misspeltKind } from "./manifest-kinds.ts";
import { leftOut, malformed, otherFormat } from "./other-kinds.ts";
import { CLAIM } from "../v1/object/claim.ts";
import { CONFIG_MAP } from "../v1/object/config-map.ts";
import { SECRET } from "../v1/object/secret.ts";
import { isRunKind, isWorkloadKind, versionOf } from "../workload/workload-kinds.ts";
import { MAX_DEPTH } from "../yaml/text-limits.ts";
import { applyRewrites } from "../yaml/apply-rewrites.ts";
import { unknownFieldsOf } from "../pod/pod-annotations.ts";
import { meantText } from "../../lib/suggest.ts";
import type { FieldError } from "../../lib/result.ts";
import { shortText } from "../../lib/short-text.ts";
import { type JsonObject, isJsonObject } from "../../lib/json.ts";
import type { Type } from "../schema/type.ts";

const LOCAL_TYPES: Readonly<Record<LocalObjectKind, Type<LocalObject>>> = {
  ConfigMap: CONFIG_MAP,
  Secret: SECRET,
  PersistentVolumeClaim: CLAIM,
};

/** A Pod, a ConfigMap, a Secret, a claim, or a list of them. Never throws, whatever `value` is. */
export function decodeObject(value: unknown, context: DecodeContext): DecodedObject {
  return decodeWithin(value, { budget: new FindingsBudget(), ...context });
}

function decodeWithin(value: unknown, context: DecodeContext): DecodedObject {
  const wrong = (message: string): DecodedObject =>
    rejected({}, context, [locatedError({ path: [], code: "Invalid", message }, context.locate)]);
  if (isTooDeep(value, MAX_DEPTH)) return wrong(`nested deeper than ${MAX_DEPTH} levels`);
  if (!isJsonObject(value)) return wrong("must be an object");
  const kind = value["kind"];
  if (kind === "Pod") return decodeOnePod(value, context);
  if (isLocalKind(kind)) return decodeLocalObject(value, kind, context);
  if (isWorkloadKind(kind)) return decodeWorkload(value, kind, context);
  if (isRunKind(kind)) return decodeRun(value, kind, context);
  if (isList(kind)) return decodeList(value, kind, context);
  return decodeOtherKind(value, context);
}

function isTooDeep(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isTooDeep(member, levels - 1));
}

function isLocalKind(kind: unknown): kind is LocalObjectKind {
  return typeof kind === "string" && Object.hasOwn(LOCAL_TYPES, kind);
}

/** No message contains any of a Secret's content. */
function decodeLocalObject(
  value: JsonObject,
  kind: LocalObjectKind,
  context: DecodeContext,
): DecodedObject {
  const { locate, lenient, budget } = context;
  const findings = new Findings({ locate, lenient, budget, unknownFields: unknownFieldsOf(value) });
  const object = LOCAL_TYPES[kind].read({ findings, path: [], value });
  const isUsable = lenient === true ? object?.metadata.name !== "" : findings.errors.length === 0;
  if (object === undefined || !isUsable) return rejected(value, context, findings.errors);
  const desired = { object, source: context.source, sourceRef: context.sourceRef };
  const objects = [decodedItem(desired, applyRewrites(value, findings), context)];
  return { ...NOTHING_DECODED, objects, notices: notices(value, context, findings.warnings) };
}

function decodeList(value: JsonObject, kind: string, context: DecodeContext): DecodedObject {
  const { locate, lenient, budget } = context;
  const findings = new Findings({ locate, lenient, budget });
  const root: Node = { findings, path: [], value };
  const items = LIST.read(root)?.items ?? [];
  if (value["items"] === undefined) required(root, "items", "a list of objects");
  const { errors } = findings;
  if (errors.length > 0 && (lenient !== true || items.length === 0))
    return rejected({ kind }, context, errors);
  const decoded = mergeDecoded(
    items.map((item, index) => decodeItem(item, kind, withinItem(context, index))),
  );
  // Errors of named objects are all kept: their last good versions depend on them.
  const isNamed = ({ name }: Rejection): boolean => name !== undefined;
  return { ...decoded, errors: few(decoded.errors, isNamed, { code: "TooMany", what: "errors" }) };
}

function decodeItem(item: unknown, list: string, context: DecodeContext): DecodedObject {
  if (!isJsonObject(item)) return decodeWithin(item, context);
  const implied = itemKind(list);
  const value =
    implied !== undefined && item["kind"] === undefined
      ? { apiVersion: versionOf(implied), ...item, kind: implied }
      : item;
  const kind = value["kind"];
  if (!isList(kind) || (list === "List" && kind !== "List")) return decodeWithin(value, context);
  const error = kindError("Invalid", "a list cannot hold lists", context);
  return rejected({ kind }, context, [error]);
}

function withinItem(context: DecodeContext, index: number): DecodeContext {
  const { locate, item = [] } = context;
  const below = locate && ((path: FieldPath) => locate(["items", index, ...path]));
  return { ...context, item: [...item, "items", index], locate: below };
}

/** Neither a pod nor an object of this node: an error if it may have been meant as one, otherwise it is left out. */
function decodeOtherKind(value: JsonObject, context: DecodeContext): DecodedObject {
  const kind = value["kind"];
  const wrong = (error: FieldError): DecodedObject => rejected(value, context, [error]);
  if ((kind ?? "") === "") return wrong(withoutKind(value, context));
  if (typeof kind !== "string")
    return wrong(kindError("Invalid", invalidValue(kind, "must be a string"), context));
  const meant = misspeltKind(kind, value["apiVersion"]);
  const shown = shortText(kind, MAX_WORD);
  // A misspelt Pod is a broken pod, not a foreign kind: its last good version keeps running.
  if (meant !== undefined) {
    const message = `unknown kind ${JSON.stringify(shown)}${meantText(meant)}`;
    return wrong(kindError("Invalid", message, context));
  }
  const wrongField = malformed(kind, value["apiVersion"]);
  if (wrongField !== undefined) {
    const { field, message } = wrongField;
    const error = { path: [field], code: "Invalid", message: invalidValue(value[field], message) };
    return wrong(locatedError(error, context.locate));
  }
  if (kind === "Service") return decodeService(value, context);
  const notice = kindError("Ignored", leftOut(shown), context);
  return { ...NOTHING_DECODED, ignoredKinds: rejections(value, context, [notice]) };
}

function withoutKind(value: JsonObject, context: DecodeContext): FieldError {
  const other = otherFormat(value);
  if (other === undefined) return kindError("Required", 'Required value: "Pod"', context);
  const { field, message } = other;
  return locatedError({ path: [field], code: "Invalid", message }, context.locate);
}

function kindError(code: string, message: string, { locate }: DecodeContext): FieldError {
  return locatedError({ path: ["kind"], code, message }, locate);
}
