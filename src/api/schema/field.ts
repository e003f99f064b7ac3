// What this node knows of one field of an object; decoding, `agent explain` and docs/pod-spec.md all read it.

import { supported, type FieldRule } from "../decode/field-rules.ts";

export interface Field {
  /** As `kubectl explain` prints it: `string`, `[]Container`, `map[string]string`. */
  readonly type: string;
  readonly about: string;
  readonly rule: FieldRule;
  /** What stands below it; absent for values, and where nothing below is looked at. */
  readonly level?: Level;
  /** Must be written. */
  readonly required?: true;
}

/** The fields of one object, by name. */
export type Level = Readonly<Record<string, Field>>;

/** Supported unless `more` says otherwise. */
export function field(
  type: string,
  about: string,
  more: Partial<Pick<Field, "rule" | "level" | "required">> = {},
): Field {
  return { type, about, rule: supported, ...more };
}
