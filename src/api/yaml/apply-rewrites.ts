// The written object of a checkpoint, with the author's text where YAML read a boolean (`yes`) that was accepted as text:
// hashes are made from it.

import type { Findings } from "../decode/field-errors.ts";
import { type JsonObject, isJsonObject } from "../../lib/json.ts";

/** The steps of all paths, as one tree: what has no rewrite below it is not copied. */
type Tree = Map<string | number, Tree | string>;

export function applyRewrites(value: JsonObject, { rewrites }: Findings): JsonObject {
  if (rewrites.length === 0) return value;
  const tree: Tree = new Map();
  for (const { path, text } of rewrites) {
    let branch = tree;
    for (const step of path.slice(0, -1)) branch = branchAt(branch, step);
    const last = path.at(-1);
    if (last !== undefined) branch.set(last, text);
  }
  const changed = replaced(value, tree);
  return isJsonObject(changed) ? changed : value;
}

function branchAt(tree: Tree, step: string | number): Tree {
  const there = tree.get(step);
  if (there instanceof Map) return there;
  const branch: Tree = new Map();
  tree.set(step, branch);
  return branch;
}

function replaced(value: unknown, tree: Tree | string): unknown {
  if (typeof tree === "string") return tree;
  const member = (step: string | number, old: unknown): unknown => {
    const branch = tree.get(step);
    return branch === undefined ? old : replaced(old, branch);
  };
  if (Array.isArray(value)) return value.map((item: unknown, index) => member(index, item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, old]) => [key, member(key, old)]));
}
