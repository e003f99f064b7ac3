// Types of values that several declarations share: numbers within bounds, text of a form, quantities, durations, points in time, anything.

import type { Message } from "../decode/field-errors.ts";
import { invalidAt, isUnwritten, placeOf } from "../decode/field-reader.ts";
import { formatDuration, parseDuration } from "../resource/duration.ts";
import { canonicalQuantity, QUANTITY_FORM, quantityError } from "../resource/quantity.ts";
import { bytesOfBase64 } from "../validation/base64.ts";
import type { Form } from "../validation/validate-names.ts";
import { rfc3339 } from "../../lib/clock.ts";
import { checked, converted, fieldOf, listOf, number, text } from "./codec.ts";
import type { Field, JsonSchema, Type } from "./type.ts";

export const MAX_INT32 = 2 ** 31 - 1;
export const MIN_INT32 = -(2 ** 31);
const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Options of a field whose number is within bounds, both included. */
export function within(
  minimum: number,
  maximum: number,
  message = `must be between ${minimum} and ${maximum}, inclusive`,
) {
  const check = (value: number): string | undefined =>
    value < minimum || value > maximum ? message : undefined;
  return {
    check,
    schema: maximum === Number.POSITIVE_INFINITY ? { minimum } : { minimum, maximum },
  };
}

/** A whole number within bounds, both included. */
export function between(minimum: number, maximum: number, message?: string): Type<number> {
  const { check, schema } = within(minimum, maximum, message);
  return { ...checked(number, check), schema: () => ({ ...number.schema(), ...schema }) };
}

export function atLeast(minimum: number): Type<number> {
  return between(minimum, Number.POSITIVE_INFINITY, `must be at least ${minimum}`);
}

/** Text of which "" is a value as well, and mostly a wrong one. */
export const exactText: Type<string> = { ...text, isEmpty: () => false };

/** Text of a certain form. */
export function textOf({ check, schema }: Form): Type<string> {
  return { ...checked(text, check), schema: () => ({ ...text.schema(), ...schema }) };
}

/** An amount of zero or more, in canonical text; written as text or as a number. */
export const quantity: Type<string> = {
  name: "Quantity",
  read(at) {
    const { value } = at;
    const written =
      typeof value === "number" || typeof value === "string" ? String(value).trim() : "";
    const canonical = canonicalQuantity(written);
    if (canonical === undefined) return invalidAt(at, quantityError(written) ?? "");
    if (canonical.startsWith("-")) return invalidAt(at, "must be greater than or equal to 0");
    return canonical;
  },
  write: (value) => value,
  schema: () => ({
    type: ["string", "number", "null"],
    pattern: `^\\s*(?:${QUANTITY_FORM.source.slice(1, -1)})\\s*$`,
    minimum: 0,
  }),
};

/** A required word, whose absence is reported like any other wrong word. */
export function requiredWord<T>(type: Type<T>, about: string): Field<T | undefined> {
  const field = fieldOf(type)({ about, required: true });
  return {
    ...field,
    read(node, key) {
      if (!isUnwritten(node, key)) return field.read(node, key);
      return type.read({ ...placeOf(node, key), value: "" });
    },
  };
}

/** A list of at most so many items as written. */
export function shortList<T>(item: Type<T>, maxItems: number): Type<readonly T[]> {
  const whole = listOf(item);
  return {
    ...whole,
    read(at) {
      const count = Array.isArray(at.value) ? at.value.length : 0;
      const message = `Too many: ${count}: must have at most ${maxItems} items`;
      if (count > maxItems) at.findings.fail(at.path, "Invalid", message);
      return whole.read(at);
    },
    schema: (unknownFields) => ({ ...whole.schema(unknownFields), maxItems }),
  };
}

/** The same type; `absent` is the same as not written. */
export function unless<T, const D extends T>(type: Type<T>, absent: D): Type<Exclude<T, D>> {
  return converted(type, {
    to: (value) => (isNot(value, absent) ? value : undefined),
    from: (value: Exclude<T, D>): T => value,
  });
}

function isNot<T, D extends T>(value: T, other: D): value is Exclude<T, D> {
  return value !== other;
}

/** Text that must not be empty. */
export function filledText(
  check: (value: string) => Message | undefined = () => undefined,
  schema: JsonSchema = {},
): Type<string> {
  const type = checked(exactText, (value) => (value === "" ? "must not be empty" : check(value)));
  return { ...type, schema: () => ({ ...text.schema(), minLength: 1, ...schema }) };
}

/** A duration such as `1m30s`, in milliseconds, within bounds. */
export function duration(minimum: number, maximum: number): Type<number> {
  const [least, most] = [minimum, maximum].map(formatDuration);
  return {
    name: "Duration",
    read(at) {
      const ms = typeof at.value === "string" ? parseDuration(at.value) : undefined;
      if (ms === undefined) return invalidAt(at, "must be a duration such as 1m30s");
      if (ms < minimum) return invalidAt(at, `must be at least ${least}`);
      if (ms > maximum) return invalidAt(at, `must be at most ${most}`);
      return Math.round(ms);
    },
    write: formatDuration,
    schema: () => ({ type: ["string", "null"], pattern: "^[0-9.][0-9.a-zµμ]*$" }),
  };
}

/** A time as RFC 3339 writes it, in wall-clock milliseconds. */
export const time: Type<number> = converted(
  checked(exactText, (written) =>
    isTime(written) ? undefined : "must be a time such as 2026-11-21T08:00:00Z",
  ),
  { to: (written) => (isTime(written) ? Date.parse(written) : undefined), from: rfc3339 },
);

function isTime(written: string): boolean {
  return RFC3339.test(written) && !Number.isNaN(Date.parse(written));
}

/** Any JSON value, null included; judged by others. */
export const anything: Type<unknown> = {
  name: "any",
  read: ({ value }) => value,
  write: (value) => value,
  schema: () => ({}),
};

/** A number that need not be whole. */
export const realNumber: Type<number> = {
  name: "number",
  read: (at) => (typeof at.value === "number" ? at.value : invalidAt(at, "must be a number")),
  write: (value) => value,
  schema: () => ({ type: ["number", "null"] }),
};

/** Bytes, in base64 where they are written. */
export const base64: Type<Uint8Array> = {
  name: "string",
  read(at) {
    const bytes = typeof at.value === "string" ? bytesOfBase64(at.value) : undefined;
    return bytes ?? invalidAt(at, "must be base64");
  },
  write: (bytes) => bytes.toBase64(),
  schema: () => ({ type: ["string", "null"], contentEncoding: "base64" }),
};
