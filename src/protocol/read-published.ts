// Reads what other clients published: any shape is possible, and nothing here throws.

import { boolean, integer, string, converted } from "../api/schema/codec.ts";
import { readLeniently } from "../api/schema/read-value.ts";
import type { Field, Type, Level } from "../api/schema/type.ts";
import { type JsonObject, isJsonObject, parseJson } from "../lib/json.ts";

/** A JSON object in UTF-8; undefined = anything else. */
export function wireObject(payload: Uint8Array): JsonObject | undefined {
  const value = parseJson(payload);
  return isJsonObject(value) ? value : undefined;
}

/** What is unusable in it is as good as absent; undefined = no JSON object. */
export function readWire<T>(type: Type<T>, payload: Uint8Array): T | undefined {
  const value = wireObject(payload);
  return value === undefined ? undefined : readLeniently(type, value);
}

/** "" if it is absent. */
export const text = (about: string): Field<string> => string({ about, default: "" });
export const maybeText = (about: string): Field<string | undefined> => string({ about });
/** A whole number of at least 0. */
export const count = (about: string, byDefault = 0): Field<number> =>
  integer({ about, default: byDefault, check: countError });
export const maybeCount = (about: string): Field<number | undefined> =>
  integer({ about, check: countError });
export const flag = (about: string): Field<boolean> => boolean({ about, default: false });

function countError(value: number): string | undefined {
  return value < 0 ? "must be at least 0" : undefined;
}

/** In a list, null is not an object without fields. */
export function item<T>(type: Type<T>): Type<T> {
  return { ...type, nullItem: undefined };
}

/** An object without one of its fields is as good as none. */
export function complete<T extends object, const K extends string = never>(
  type: Type<T> & { readonly level: Level },
  except: readonly K[] = [],
): Type<T & Required<Omit<T, K>>> {
  const needed = Object.keys(type.level).filter((key) => !except.some((one) => one === key));
  const isComplete = (value: T): value is T & Required<Omit<T, K>> =>
    needed.every((key) => Object.hasOwn(value, key));
  return converted(type, {
    to: (value) => (isComplete(value) ? value : undefined),
    from: (value: T & Required<Omit<T, K>>): T => value,
  });
}
