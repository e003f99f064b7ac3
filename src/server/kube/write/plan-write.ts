// What a write makes of an object's file: the object is judged as its file will be, and against what the file has now.

import { canonicalJson, type JsonObject } from "../../../lib/json.ts";
import type { FieldError } from "../../../lib/result.ts";
import { immutableErrors } from "../../../source/immutable-objects.ts";
import type { StatusCause } from "../kube-status.ts";
import { takeOver, withManager, withoutManager, type Manager } from "./field-manager.ts";
import { judgeObject, keepsMeaning, type JudgeContext, type Judgement } from "./judge-object.ts";
import type { StoredManifest } from "./manifest-store.ts";
import type { WriteOptions } from "./write-options.ts";
import { storedObject } from "./written-object.ts";

export type Accepted = Extract<Judgement, { type: "Accepted" }>;
/** A file that this API may write, or none. */
export type OwnManifest = Exclude<StoredManifest, { type: "Foreign" }>;

export type WritePlan =
  | {
      readonly type: "Planned";
      readonly accepted: Accepted;
      /** False = the file has it already. */
      readonly isWritten: boolean;
    }
  | { readonly type: "Refused"; readonly errors: readonly FieldError[] }
  | { readonly type: "Conflict"; readonly causes: readonly StatusCause[] };

export interface PlanOptions {
  readonly context: JudgeContext;
  readonly options: WriteOptions;
  readonly operation: Manager["operation"];
  /** RFC 3339. */
  readonly time: string;
}

/** `sent`: with its kind, namespace and name. */
export function planWrite(
  sent: JsonObject,
  stored: OwnManifest,
  { context, options, operation, time }: PlanOptions,
): WritePlan {
  const { fieldValidation, fieldManager: name, force } = options;
  const manager = { name, operation, time };
  const object = withManager(storedObject(sent, context.nodeName), manager);
  const judged = judgeObject(object, context, fieldValidation);
  if (judged.type === "Refused") return judged;
  const errors = forbiddenEdits(judged, stored);
  if (errors.length > 0) return { type: "Refused", errors };
  const before = stored.type === "Own" ? stored.object : undefined;
  const wanted = withKeptSpelling(judged, stored);
  const next = takeOver(before, wanted, { manager, force });
  if (next.type === "Conflict") return next;
  if (next.type === "Same") {
    const item = (stored.type === "Own" ? stored.item : undefined) ?? judged.item;
    return {
      type: "Planned",
      accepted: { ...judged, item, object: next.object },
      isWritten: false,
    };
  }
  if (canonicalJson(next.object) === canonicalJson(judged.object))
    return { type: "Planned", accepted: judged, isWritten: true };
  // Without unknown fields, or with the spelling of before, the text is another one.
  const whole = judgeObject(next.object, context, fieldValidation);
  if (whole.type === "Refused") return whole;
  return { type: "Planned", accepted: { ...whole, warnings: judged.warnings }, isWritten: true };
}

function forbiddenEdits({ item }: Accepted, stored: OwnManifest): readonly FieldError[] {
  const before = stored.type === "Own" ? stored.item : undefined;
  if (before?.type !== "Object" || item.type !== "Object") return [];
  return immutableErrors(before.desired.object, item.desired.object);
}

/** What is written of the spec stays where the new one means the same. */
function withKeptSpelling({ object, item }: Accepted, stored: OwnManifest): JsonObject {
  const wanted = withoutManager(object);
  if (stored.type === "None" || !keepsMeaning(stored.item, item)) return wanted;
  return { ...wanted, spec: stored.object?.["spec"] };
}
