// Finds fields by their paths: all fields of a kind, and the one at a path.

import { suggest } from "../../lib/suggest.ts";
import type { Field, Level } from "./type.ts";

export interface FieldAt {
  /** `spec.containers[].env[].name`. */
  readonly path: string;
  readonly field: Field;
}

/** Every field of a level and of those below it, parents first. */
export function allFields(level: Level, prefix = ""): readonly FieldAt[] {
  return Object.entries(level).flatMap(([name, field]): readonly FieldAt[] => {
    const path = `${prefix}${name}`;
    const below =
      field.level === undefined ? [] : allFields(field.level, `${itemPath(path, field)}.`);
    return [{ path, field }, ...below];
  });
}

function itemPath(path: string, { type }: Field): string {
  return type.startsWith("[]") ? `${path}[]` : path;
}

export type FoundField =
  | { readonly type: "Found"; readonly name: string; readonly field: Field }
  /** Nothing below this field is looked at. */
  | { readonly type: "Below"; readonly path: string; readonly field: Field }
  | { readonly type: "Unknown"; readonly path: string; readonly meant: string | undefined };

/** `names` are the steps of a path without indexes, at least one. */
export function findField(level: Level, names: readonly [string, ...string[]]): FoundField {
  let here = level;
  let found: FoundField | undefined;
  const trail: string[] = [];
  for (const name of names) {
    if (found?.type === "Found" && found.field.level === undefined)
      return { type: "Below", path: trail.join("."), field: found.field };
    const field = Object.hasOwn(here, name) ? here[name] : undefined;
    trail.push(name);
    if (field === undefined) {
      const meant = suggest(name, Object.keys(here));
      const instead = meant === undefined ? undefined : [...trail.slice(0, -1), meant].join(".");
      return { type: "Unknown", path: trail.join("."), meant: instead };
    }
    found = { type: "Found", name, field };
    here = field.level ?? {};
  }
  return found ?? { type: "Unknown", path: "", meant: undefined };
}

/** Where a field of this name stands, shortest path first. */
export function pathsEndingIn(level: Level, name: string): readonly string[] {
  const wanted = name.toLowerCase();
  return allFields(level)
    .map(({ path }) => path.replaceAll("[]", ""))
    .filter((path) => path.split(".").at(-1)?.toLowerCase() === wanted)
    .toSorted((a, b) => a.length - b.length);
}
