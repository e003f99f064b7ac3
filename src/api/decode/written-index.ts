// Lists of which some entries are left out: findings name the index that was written.

import { invalidAt, type Place } from "./field-reader.ts";
import { listOf } from "../schema/codec.ts";
import { conditional, itemSchema } from "../schema/json-schema.ts";
import type { JsonSchema, Type } from "../schema/type.ts";

/** An entry of a list from which others may have been left out, as those of an injected token are. */
export interface Written {
  /** Index in the written list; absent = its index now. */
  readonly writtenIndex?: number;
}

interface Entry<T> {
  readonly node: Pick<Place, "path">;
  /** Undefined = it is left out. */
  readonly value: T | undefined;
}

/** The entries that are kept, those that moved up with their written place. */
function keptEntries<T extends object>(entries: readonly Entry<T>[]): readonly (T & Written)[] {
  const kept: (T & Written)[] = [];
  for (const { node, value } of entries) {
    if (value === undefined) continue;
    const writtenIndex = node.path.at(-1);
    const isMoved = typeof writtenIndex === "number" && writtenIndex !== kept.length;
    kept.push(isMoved ? { ...value, writtenIndex } : value);
  }
  return kept;
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
      const entries = at.value.map((written: unknown, index) => {
        const node = { ...at, path: [...at.path, index], value: written ?? item.nullItem };
        return { node, value: isLeftOut(written) ? undefined : item.read(node) };
      });
      return keptEntries(entries);
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
