// JSON in Kubernetes' form: empty members are omitted.

import { isJsonObject } from "../lib/json.ts";

export type V1Object = Readonly<Record<string, unknown>>;

export function list(key: string, items: readonly unknown[]): V1Object {
  return items.length === 0 ? {} : { [key]: items };
}

export function map(key: string, members: object): V1Object {
  return Object.keys(members).length === 0 ? {} : { [key]: members };
}

export function writtenObject(written: unknown): V1Object {
  return isJsonObject(written) ? written : {};
}
