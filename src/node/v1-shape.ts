// How Kubernetes writes JSON: what is empty or false is left out.

import { isJsonObject } from "../lib/json.ts";

/** Plain JSON in Kubernetes' form. */
export type V1Object = Readonly<Record<string, unknown>>;

export function list(key: string, items: readonly unknown[]): V1Object {
  return items.length === 0 ? {} : { [key]: items };
}

export function map(key: string, members: object): V1Object {
  return Object.keys(members).length === 0 ? {} : { [key]: members };
}

export function text(key: string, value: string): V1Object {
  return value === "" ? {} : { [key]: value };
}

export function flag(key: string, isSet: boolean): V1Object {
  return isSet ? { [key]: true } : {};
}

/** What a type of an object has written. */
export function writtenObject(written: unknown): V1Object {
  return isJsonObject(written) ? written : {};
}
