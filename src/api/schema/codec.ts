// One description per field: type, reading, default, refusal, `explain`, documentation, JSON Schema and writing all come from it.

import {
  asString,
  checkFields,
  invalidAt,
  placeOf,
  required,
  type Node,
  type Place,
} from "../decode/field-reader.ts";
import { emptinessSchema, itemSchema, objectSchema, type ObjectRules } from "./json-schema.ts";
import { supported, type FieldRule } from "../decode/field-rules.ts";
import type { Message } from "../decode/field-errors.ts";
import type { JsonSchema, Type, Field, Level } from "./type.ts";
import { isJsonObject, mapValues, withoutUndefined } from "../../lib/json.ts";

/** What a type or an object's fields decode to. */
export type Decoded<D> = D extends { read(at: Place): infer T | undefined }
  ? Exclude<T, undefined>
  : never;

type ValueOf<F> = F extends Field<infer T> ? T : never;
type Unread<F extends Level> = {
  [K in keyof F]: [ValueOf<F[K]>] extends [never] ? K : never;
}[keyof F];
type Optional<F extends Level> = {
  [K in keyof F]: undefined extends ValueOf<F[K]> ? K : never;
}[keyof F];
export type ObjectOf<F extends Level> = {
  readonly [K in Exclude<keyof F, Unread<F> | Optional<F>>]: ValueOf<F[K]>;
} & {
  readonly [K in Exclude<Optional<F>, Unread<F>>]?: Exclude<ValueOf<F[K]>, undefined>;
};

interface FieldOptions<T> {
  /** One or two sentences for `explain`, editors and the reference; the default is added. */
  readonly about: string;
  /** A text is reported with the error. */
  readonly required?: true | string;
  readonly default?: T;
  /** Whether the value is good: undefined, or what is wrong with it. */
  readonly check?: (value: T, node: Node) => Message | undefined;
  readonly rule?: FieldRule;
  /** Kubernetes requires it, but reading does without: marked as required and never reported. */
  readonly marked?: true;
  /** Empty or false is a value of its own: read and written as such. */
  readonly keep?: true;
  /** Added to the type's own schema: a pattern, a range. */
  readonly schema?: JsonSchema;
}
type PresentOptions<T> = FieldOptions<T> &
  ({ readonly default: T } | { readonly required: true | string });

interface FieldOf<T> {
  (options: PresentOptions<T>): Field<T>;
  (options: FieldOptions<T>): Field<T | undefined>;
}

interface ObjectFieldOf<T> {
  (options: FieldOptions<T> & { readonly default: T }): Field<T>;
  (options: FieldOptions<T>): Field<T | undefined>;
}

/** Fields of one type; `zero` stands in for a required value that is missing or unusable. */
export function fieldOf<T>(type: Type<T>, zero: T): FieldOf<T>;
export function fieldOf<T>(type: Type<T>): ObjectFieldOf<T>;
export function fieldOf<T>(type: Type<T>, zero?: T): FieldOf<T> {
  return (options: FieldOptions<T>) => makeField(type, options, zero) as Field<T>;
}

/** Fields of text or of a number in a certain form. */
export function textField(type: Type<string>): FieldOf<string> {
  return fieldOf(type, "");
}
export function numberField(type: Type<number>): FieldOf<number> {
  return fieldOf(type, 0);
}

function makeField<T>(type: Type<T>, options: FieldOptions<T>, zero?: T): Field<T | undefined> {
  const { check, rule = supported, keep = false } = options;
  const about = aboutWithDefault(type, options);
  const absent = options.default ?? (options.required === undefined ? undefined : zero);
  const isEmpty = (written: unknown): boolean => !keep && type.isEmpty?.(written) === true;
  /** Whether what is blank is read as if it were not written. */
  const isAbsence = (blank: unknown): boolean =>
    options.default === undefined
      ? type.isEmpty?.(blank) === true
      : isBlank(type.write(options.default));
  return {
    type: type.name,
    about,
    rule,
    ...(type.level === undefined ? {} : { level: type.level }),
    ...(options.required === undefined && options.marked !== true ? {} : { required: true }),
    read(node, key) {
      const at = placeOf(node, key);
      if ((at.value ?? null) === null || isEmpty(at.value)) {
        if (options.required !== undefined)
          required(node, key, options.required === true ? "" : options.required);
        return absent;
      }
      const value = type.read(at);
      if (value === undefined) return absent;
      const error = check?.(value, node);
      if (error === undefined) return value;
      invalidAt(at, error);
      // A checkpoint runs without what an older agent accepted, but for what nothing stands in for.
      return options.required === undefined ? absent : value;
    },
    write(value) {
      const written = value === undefined ? undefined : type.write(value);
      return keep || !isBlank(written) || !isAbsence(written) ? written : undefined;
    },
    schema(unknownFields) {
      const byDefault =
        options.default === undefined ? {} : { default: type.write(options.default) };
      const own = { ...type.schema(unknownFields), ...options.schema };
      return emptinessSchema(
        { ...own, description: about, ...byDefault },
        { isRequired: options.required !== undefined, isEmpty },
      );
    },
  };
}

function aboutWithDefault<T>(type: Type<T>, { about, default: value }: FieldOptions<T>): string {
  const written = value === undefined ? undefined : type.write(value);
  // The defaults of an object stand with its fields.
  if (written === undefined || isBlank(written) || isJsonObject(written)) return about;
  return `${about} Default: ${typeof written === "string" ? written : JSON.stringify(written)}.`;
}

/** What Kubernetes leaves out. */
function isBlank(written: unknown): boolean {
  if (written === "" || written === false) return true;
  if (Array.isArray(written)) return written.length === 0;
  return typeof written === "object" && written !== null && Object.keys(written).length === 0;
}

/** A field that is judged by its rule alone and never read. */
export function unread(type: string, about: string, rule: FieldRule): Field<never> {
  return {
    type,
    about,
    rule,
    read: () => undefined as never,
    write: () => undefined,
    schema: () => ({ description: about }),
  };
}

/** Fields that one rule judges: the type and the meaning of each. */
export function unreadFields<const K extends string>(
  rule: FieldRule,
  fields: Readonly<Record<K, readonly [type: string, about: string]>>,
): { readonly [P in K]: Field<never> } {
  const entries = Object.entries<readonly [string, string]>(fields).map(
    ([key, [type, about]]) => [key, unread(type, about, rule)] as const,
  );
  return Object.fromEntries(entries) as { readonly [P in K]: Field<never> };
}

/** A field that is only judged: its value changes nothing on this node. */
export function judgedOnly(field: Field): Field<never> {
  return {
    ...field,
    read: (node, key) => void field.read(node, key) as never,
    write: () => undefined,
  };
}

// Values: items of lists and maps, and what fields are made of.

export const text: Type<string> = {
  name: "string",
  read: (at) => asString(at),
  write: (value) => value,
  schema: () => ({ type: ["string", "null"] }),
  isEmpty: (written) => written === "",
  nullItem: "",
};

export const flag: Type<boolean> = {
  name: "boolean",
  read(at) {
    if (typeof at.value === "boolean") return at.value;
    return invalidAt(at, "must be true or false");
  },
  write: (value) => value,
  schema: () => ({ type: ["boolean", "null"] }),
};

export const number: Type<number> = {
  name: "integer",
  read(at) {
    if (typeof at.value === "number" && Number.isSafeInteger(at.value)) return at.value;
    return invalidAt(at, "must be an integer");
  },
  write: (value) => value,
  schema: () => ({ type: ["integer", "null"] }),
};

export const string = textField(text);
export const boolean = fieldOf(flag, false);
export const integer = numberField(number);

/** The same type; `judge` reports what is wrong with a value that was read. */
export function judged<T>(type: Type<T>, judge: (value: T, at: Place) => void): Type<T> {
  return {
    ...type,
    read(at) {
      const value = type.read(at);
      if (value !== undefined) judge(value, at);
      return value;
    },
  };
}

/** The same type; an invalid value is reported with the message of `check`. */
export function checked<T>(type: Type<T>, check: (value: T) => Message | undefined): Type<T> {
  return judged(type, (value, at) => {
    const error = check(value);
    if (error !== undefined) invalidAt(at, error);
  });
}

/** One of a few words. `error`: what any other is reported with, in place of the words. */
export function word<const T extends string>(choices: readonly T[], error?: string): Type<T> {
  return {
    name: "string",
    read(at) {
      const written = asString(at);
      const choice = choices.find((one) => one === written);
      if (written === undefined || choice !== undefined) return choice;
      if (error !== undefined) return invalidAt(at, error);
      at.findings.unsupported(at.path, written, choices);
      return undefined;
    },
    write: (value) => value,
    schema: () => ({ enum: [...choices, "", null] }),
    isEmpty: (written) => written === "",
  };
}

/** A field that is one of a few words. */
export function oneOf<const T extends string>(
  choices: readonly T[],
  options: FieldOptions<NoInfer<T>> & { readonly default: NoInfer<T> },
): Field<T>;
export function oneOf<const T extends string>(
  choices: readonly T[],
  options: FieldOptions<NoInfer<T>>,
): Field<T | undefined>;
export function oneOf<const T extends string>(
  choices: readonly T[],
  options: FieldOptions<NoInfer<T>>,
): Field<T | undefined> {
  return makeField(word(choices), options);
}

interface ListOptions<T> extends Omit<FieldOptions<readonly T[]>, "default"> {
  /** What is wrong with one item; undefined = nothing. */
  readonly item?: (value: T) => Message | undefined;
}

/** A list of which every item is of one type; [] if it is not written. */
export function list<T>(type: Type<T>, options: ListOptions<T>): Field<readonly T[]> {
  const item = options.item === undefined ? type : checked(type, options.item);
  return fieldOf(listOf(item), [])({ ...options, default: [] });
}

/** The type of a list; for a field in which [] and not written differ. */
export function listOf<T>(type: Type<T>): Type<readonly T[]> {
  return {
    name: `[]${type.name}`,
    ...(type.level === undefined ? {} : { level: type.level }),
    read(at) {
      if (!Array.isArray(at.value)) return invalidAt(at, "must be a list");
      return at.value.flatMap((written: unknown, index): readonly T[] => {
        const value = written ?? type.nullItem;
        const place = { ...at, path: [...at.path, index], value };
        const item = value === undefined ? type.read({ ...place, value: null }) : type.read(place);
        return item === undefined ? [] : [item];
      });
    },
    write: (values) => values.map((value) => type.write(value)),
    schema: (unknownFields) => ({
      type: ["array", "null"],
      items: itemSchema(type.schema(unknownFields)),
    }),
    isEmpty: (written) => Array.isArray(written) && written.length === 0,
  };
}

interface MapOptions<T> extends Omit<FieldOptions<Readonly<Record<string, T>>>, "default"> {
  /** What is wrong with a key, and with its value; both are reported at the key, and an entry with a wrong key is left out. */
  readonly key?: (key: string) => Message | undefined;
  readonly value?: (value: T) => Message | undefined;
}

/** An object whose keys its author chooses; {} if it is not written. */
export function map<T>(
  type: Type<T>,
  { key, value, ...options }: MapOptions<T>,
): Field<Readonly<Record<string, T>>> {
  const item = value === undefined ? type : checked(type, value);
  return fieldOf(mapType(item, key), {})({ ...options, default: {} });
}

/** The type of a map; for a field in which {} and not written differ. */
export function mapType<T>(
  type: Type<T>,
  keyError: MapOptions<T>["key"],
): Type<Readonly<Record<string, T>>> {
  return {
    name: `map[string]${type.name}`,
    read(at) {
      if (!isJsonObject(at.value)) return invalidAt(at, "must be an object");
      const entries = Object.entries(at.value).flatMap(([key, written]) => {
        const place = { ...at, path: [...at.path, key] };
        const error = keyError?.(key);
        if (error !== undefined) at.findings.invalid(place.path, key, error);
        const value = type.read({ ...place, value: written ?? type.nullItem });
        return value === undefined || error !== undefined ? [] : [[key, value] as const];
      });
      return Object.fromEntries(entries);
    },
    write: (values) => mapValues(values, (value) => type.write(value)),
    schema: (unknownFields) => ({
      type: ["object", "null"],
      additionalProperties: itemSchema(type.schema(unknownFields)),
    }),
  };
}

interface ObjectOptions<T> extends ObjectRules {
  /** What must fit together. */
  readonly check?: (value: T, node: Node) => void;
}

/** An object with known fields. */
export function objectType<const F extends Level>(
  name: string,
  fields: F,
  options: ObjectOptions<ObjectOf<F>> = {},
): Type<ObjectOf<F>> & { readonly level: F } {
  const known = Object.entries(fields);
  return {
    name,
    level: fields,
    nullItem: {},
    read(at) {
      if (!isJsonObject(at.value)) return invalidAt(at, "must be an object");
      const node: Node = { ...at, value: at.value };
      checkFields(node, fields, options);
      const value: Record<string, unknown> = {};
      for (const [key, field] of known) {
        const read = field.read(node, key);
        if (read !== undefined) value[key] = read;
      }
      options.check?.(value as ObjectOf<F>, node);
      return value as ObjectOf<F>;
    },
    write: (value) => writeFields(fields, value),
    schema: (unknownFields) => objectSchema(fields, { ...options, unknownFields }),
  };
}

function writeFields(fields: Level, value: Readonly<Record<string, unknown>>): unknown {
  return withoutUndefined(mapValues(fields, (field, key) => field.write(value[key])));
}

interface Conversion<A, B> {
  /** undefined = unusable, and reported. */
  readonly to: (value: A, node: Place) => B | undefined;
  /** undefined = left out. */
  readonly from: (value: B) => A | undefined;
}

/** The same field by field, in another shape for its readers. */
export function converted<A, B, T extends Type<A>>(
  type: T & Type<A>,
  { to, from }: Conversion<A, B>,
): Type<B> & Pick<T, "level"> {
  return {
    ...type,
    read(at) {
      const value = type.read(at);
      return value === undefined ? undefined : to(value, at);
    },
    write(value) {
      const before = from(value);
      return before === undefined ? undefined : type.write(before);
    },
  };
}
