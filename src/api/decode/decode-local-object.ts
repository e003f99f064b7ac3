// A ConfigMap, Secret or claim as written → a defaulted object, or every error at once.

import { applyRewrites } from "../yaml/apply-rewrites.ts";
import { CLAIM } from "../v1/object/claim.ts";
import { CONFIG_MAP } from "../v1/object/config-map.ts";
import { SECRET } from "../v1/object/secret.ts";
import type { Type } from "../schema/type.ts";
import { Findings, type FindingsBudget } from "./field-errors.ts";
import type { Locate } from "./field-path.ts";
import type { LocalObject, LocalObjectKind } from "../v1/object/local-object.ts";
import { unknownFieldsOf } from "../pod/pod-annotations.ts";
import { failed, ok, type Result } from "../../lib/result.ts";
import type { JsonObject } from "../../lib/json.ts";

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

const TYPES: Readonly<Record<LocalObjectKind, Type<LocalObject>>> = {
  ConfigMap: CONFIG_MAP,
  Secret: SECRET,
  PersistentVolumeClaim: CLAIM,
};

export function isLocalKind(kind: unknown): kind is LocalObjectKind {
  return typeof kind === "string" && Object.hasOwn(TYPES, kind);
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
  const object = TYPES[kind].read({ findings, path: [], value });
  if (object === undefined) return failed(findings.errors);
  const usable = lenient ? object.metadata.name !== "" : findings.errors.length === 0;
  if (!usable) return failed(findings.errors);
  return ok({ object, written: applyRewrites(value, findings) }, findings.warnings);
}
