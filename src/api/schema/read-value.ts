// Reads a whole value by its type: strictly, with every error at its place, or leniently, as far as it can be read.

import type { Place } from "../decode/field-reader.ts";
import { Findings, type UnknownFields } from "../decode/field-errors.ts";
import type { Locate } from "../decode/field-path.ts";
import { failed, ok, type Result } from "../../lib/result.ts";
import type { Type } from "./type.ts";

export interface ReadOptions {
  /** Line and column of fields, where the text is known. */
  readonly locate?: Locate | undefined;
  /** Refused if left out. */
  readonly unknownFields?: UnknownFields;
}

/** Never throws. */
export function readValue<T>(type: Type<T>, value: unknown, options: ReadOptions = {}): Result<T> {
  const findings = new Findings(options);
  const read = readAt(type, { findings, path: [], value });
  const { errors, warnings } = findings;
  return read === undefined || errors.length > 0 ? failed(errors) : ok(read, warnings);
}

/**
 * For what others wrote: unknown fields are passed over, and an unusable value is as good as none. undefined = the value
 * itself is not of the type. Never throws.
 */
export function readLeniently<T>(type: Type<T>, value: unknown): T | undefined {
  const findings = new Findings({ lenient: true, unknownFields: "ignore" });
  return readAt(type, { findings, path: [], value });
}

/** For what a version of the agent has written: unknown fields are passed over. undefined if any known one cannot be read. */
export function readStored<T>(type: Type<T>, value: unknown): T | undefined {
  if (value === undefined || value === null) return undefined;
  const read = readValue(type, value, { unknownFields: "ignore" });
  return read.ok ? read.value : undefined;
}

/** Types are never asked about undefined and null. */
function readAt<T>(type: Type<T>, at: Place): T | undefined {
  return type.read({ ...at, value: at.value ?? type.nullItem ?? null });
}

/** What an empty object of the type decodes to: all defaults. For types without required fields. */
export function emptyValue<T>(type: Type<T>): T {
  const read = readValue(type, {});
  if (!read.ok) throw new TypeError(`${type.name} has required fields`);
  return read.value;
}
