// Lists of which some entries are left out: findings name the index that was written.

import { invalidAt } from "./field-reader.ts";
import { listOf } from "../schema/codec.ts";
import { conditional, itemSchema } from "../schema/json-schema.ts";
import type { JsonSchema, Type } from "../schema/type.ts";

/** An entry of a list from which others may have been left out, as those of an injected token are. */
export interface Written {
  /** Index in the written list; absent = its index now. */
  readonly writtenIndex?: number;
}

interface LeftOut {
  readonly isLeftOut: (written: unknown) => boolean;
  /** What is left out, if the type of an entry would refuse it. */
  readonly schema?: JsonSchema;
}

/** A list of which some entries are left out, without being read. */
export function keptList<T extends object>(
  item: Type<T>,
  { isLeftOut, schema }: LeftOut,
): Type<readonly (T & Written)[]> {
  const whole = listOf(item);
  return {
    ...whole,
    read(at) {
      if (!Array.isArray(at.value)) return invalidAt(at, "must be a list");
      const list: readonly unknown[] = at.value;
      const kept: (T & Written)[] = [];
      for (const [index, written] of list.entries()) {
        if (isLeftOut(written)) continue;
        const place = { ...at, path: [...at.path, index], value: written ?? item.nullItem };
        const value = item.read(place);
        if (value === undefined) continue;
        kept.push(index === kept.length ? value : { ...value, writtenIndex: index });
      }
      return kept;
    },
    schema: () =>
      schema === undefined
        ? whole.schema()
        : { ...whole.schema(), items: conditional(schema, {}, itemSchema(item.schema())) },
  };
}

/** `index`: where it stands now. */
export function writtenIndex(entry: Written, index: number): number {
  return entry.writtenIndex ?? index;
}
