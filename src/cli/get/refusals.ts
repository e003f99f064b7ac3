// Performs: what the sources refused that may be what `agent get` was asked for: a file that cannot be read may contain any
// object.

import type { Rejection } from "../../api/pod/desired-pod.ts";
import type { GetCall } from "./get-call.ts";
import { refusalLine } from "./refusal-line.ts";

/** Lines. `name`: only what may be the object of this name. */
export async function refusalsOf(call: GetCall, name?: string): Promise<readonly string[]> {
  const kinds = call.wanted.map(({ resource }) => resource.kind).filter((kind) => kind in CONCERNS);
  if (kinds.length === 0) return [];
  const names = call.wanted.map((one) => one.name);
  const asked = name === undefined ? names : [name];
  const rejected = await call.client.rejected();
  return rejected
    .filter((one) => kinds.some((kind) => isOfKind(kind, one)) && isAsked(one, call, asked))
    .map(refusalLine);
}

/** Which refusals stand under a table: all of them, or those that may concern this kind. */
const CONCERNS: Readonly<Record<string, "All" | "OfKind">> = {
  Pod: "All",
  ConfigMap: "OfKind",
  Secret: "OfKind",
  PersistentVolumeClaim: "OfKind",
};

function isOfKind(kind: string, rejected: Rejection): boolean {
  return CONCERNS[kind] === "All" || rejected.kind === undefined || rejected.kind === kind;
}

function isAsked(
  { name, namespace }: Rejection,
  { flags }: GetCall,
  asked: readonly (string | undefined)[],
): boolean {
  const isNamed = asked.every((one) => one !== undefined);
  if (!isNamed) return true;
  if (name !== undefined && !asked.includes(name)) return false;
  return namespace === undefined || namespace === (flags.namespace ?? "default");
}
