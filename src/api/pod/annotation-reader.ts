// How annotations are declared as fields, and read from an accepted pod.

import { Findings } from "../decode/field-errors.ts";
import { invalidAt } from "../decode/field-reader.ts";
import type { Field, Type } from "../schema/type.ts";

export type Annotations = Readonly<Record<string, string>>;

export interface Annotated {
  readonly metadata: { readonly annotations: Annotations };
}

/** One of a few words. */
export function choice<const T extends string>(words: readonly T[]): Type<T> {
  const quoted = words.map((one) => JSON.stringify(one));
  const message = `must be ${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1) ?? ""}`;
  return {
    name: "string",
    read: (at) => words.find((one) => one === at.value) ?? invalidAt(at, message),
    write: (value) => value,
    schema: () => ({ enum: words }),
  };
}

export const FLAG = choice(["true", "false"]);

/** Reads one of `fields` from an accepted pod: an annotation that is invalid counts as not written. */
export function annotationReader<V>(fields: {
  readonly [K in keyof V]: Field<V[K]>;
}): <K extends keyof V & string>(pod: Annotated, key: K) => V[K] {
  return ({ metadata }, key) => {
    const node = { findings: new Findings(), path: [], value: metadata.annotations };
    return fields[key].read(node, key);
  };
}
