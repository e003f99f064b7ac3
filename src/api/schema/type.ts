// How a value and a field of an object are described: what the codec builds and all others read.

import type { Place, Node } from "../decode/field-reader.ts";
import type { UnknownFields } from "../decode/field-errors.ts";
import type { FieldRule } from "../decode/field-rules.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** How one kind of value is written. */
export interface Type<T> {
  /** As `kubectl explain` prints it: `string`, `[]Container`. */
  readonly name: string;
  /** The fields below; absent for values. */
  readonly level?: Level;
  /** Reports what is wrong; undefined = unusable. Never called for undefined and null. */
  read(at: Place): T | undefined;
  /** As Kubernetes writes it; undefined = left out. */
  write(value: T): unknown;
  /** `unknownFields`: whether unknown fields are errors; refused if left out. */
  schema(unknownFields?: UnknownFields): JsonSchema;
  /** Written, but equal to not written; absent = no value is. */
  isEmpty?(written: unknown): boolean;
  /** What null means as an item of a list; absent = it is an error. */
  readonly nullItem?: unknown;
}

/** One field of an object. */
export interface Field<T = unknown> {
  readonly type: string;
  readonly about: string;
  readonly rule: FieldRule;
  readonly level?: Level;
  readonly required?: true;
  /** Reports what is wrong and falls back to the default. */
  read(node: Node, key: string): T;
  write(value: T): unknown;
  /** As of a type. */
  schema(unknownFields?: UnknownFields): JsonSchema;
}

/** The fields of one object, by name. */
export type Level = Readonly<Record<string, Field>>;
