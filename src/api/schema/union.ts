// An object of which exactly one field is to be written, as one tagged value.

import { forbidden, writtenOf, type Node } from "../decode/field-reader.ts";
import type { Level } from "./type.ts";

/** Exactly one of some fields, as one value that names it: `{type: "exec", …}`. */
export type Tagged<V> = {
  [K in keyof V]-?: { readonly type: K } & Exclude<V[K], undefined>;
}[keyof V];

/** The first of some optional fields; undefined = none is there. */
export function tagged<V extends Readonly<Record<string, object | undefined>>>(
  fields: V,
): Tagged<V> | undefined {
  const [first] = Object.entries(fields).filter(([, value]) => value !== undefined);
  return first === undefined ? undefined : ({ type: first[0], ...first[1] } as Tagged<V>);
}

/** The field that `tagged` has read, for writing. */
export function untagged<V>({ type, ...value }: { readonly type: string }): V {
  return { [type]: value } as V;
}

/** Whether none of the known fields is written, nor an unknown one, which is reported as a misspelt one. */
export function isEmptyUnion(node: Node, known: Level): boolean {
  const isKnown = Object.keys(node.value).every((key) => Object.hasOwn(known, key));
  return isKnown && writtenOf(node, Object.keys(known)).length === 0;
}

/** An object with exactly one of some fields: `{hostPath: …}`. */
export type Only<V> = {
  [K in keyof V]-?: { readonly [P in K]-?: Exclude<V[P], undefined> };
}[keyof V];

/** The first of some optional fields alone; undefined = none is there. */
export function only<V extends Readonly<Record<string, object | undefined>>>(
  fields: V,
): Only<V> | undefined {
  const [first] = Object.entries(fields).filter(([, value]) => value !== undefined);
  return first === undefined ? undefined : ({ [first[0]]: first[1] } as Only<V>);
}

/** Reports what Kubernetes reports where not exactly one field of a union is written. */
export function exactlyOne(node: Node, union: readonly string[], what: string): void {
  if (isMisspelt(node, union)) return;
  const [first, ...others] = writtenOf(node, union);
  if (first === undefined) node.findings.required(node.path, `must specify a ${what}`);
  for (const key of others) forbidden(node, key, `may not specify more than 1 ${what}`);
}

/** Whether an unknown field, which is an error of its own, probably means one of the union. */
export function isMisspelt({ findings, path }: Node, union: readonly string[]): boolean {
  return union.some((key) => findings.isMeant([...path, key]));
}
