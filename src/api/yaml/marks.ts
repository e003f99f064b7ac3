// Where the fields of one document stood in its text.

import type { FieldPath } from "../decode/field-path.ts";

/** Where a field begins, and its source text if it is an unquoted YAML scalar. */
export interface Mark {
  readonly offset: number;
  readonly text?: string;
}

/** Of one map or list, by key or index. */
export type Marks = Map<string | number, Mark>;

export interface MarkedTree {
  readonly root: unknown;
  /** Of the root. */
  readonly start: Mark;
  readonly marks: WeakMap<object, Marks>;
}

/** The mark of the field at a path, or of the nearest thing around it. */
export function markAt({ root, start, marks }: MarkedTree, path: FieldPath): Mark {
  let value = root;
  let mark = start;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return { offset: mark.offset };
    const next = marks.get(value)?.get(step);
    // Nothing stands at this path: the place of the parent is the best answer, its text is not.
    if (next === undefined) return { offset: mark.offset };
    mark = next;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return mark;
}

/** A key named `__proto__` must become data, never a prototype. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") target[key] = value;
  else
    Object.defineProperty(target, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
}
