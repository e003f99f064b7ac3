// Where the fields of one document are in its text.

import type { FieldPath } from "../decode/field-path.ts";

/** Where a field begins, and its source text if it is an unquoted YAML scalar. */
export interface SourcePosition {
  /** Characters from the start of the text. */
  readonly offset: number;
  readonly text?: string;
}

/** Of the members of one map or list, by key or index. */
export type MemberPositions = Map<string | number, SourcePosition>;

export interface LocatedTree {
  readonly root: unknown;
  /** Of the root. */
  readonly start: SourcePosition;
  /** Of every map and list in the tree. */
  readonly members: WeakMap<object, MemberPositions>;
}

/** The position of the field at a path; if there is none, of the nearest parent that exists, without its text. */
export function positionAt({ root, start, members }: LocatedTree, path: FieldPath): SourcePosition {
  let value = root;
  let position = start;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return { offset: position.offset };
    const next = members.get(value)?.get(step);
    if (next === undefined) return { offset: position.offset };
    position = next;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return position;
}
