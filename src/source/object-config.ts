// Which ConfigMaps, Secrets and claims count: the objects of all sources, merged by precedence.

import type { Rejection } from "../api/pod/desired-pod.ts";
import { objectKey, type DesiredObject } from "../api/v1/object/local-object.ts";
import { reservedError } from "../api/pod/node-object.ts";

export interface MergedObjects {
  readonly objects: readonly DesiredObject[];
  readonly rejected: readonly Rejection[];
}

/** `inOrder`: the first of a name wins. */
export function mergeObjects(inOrder: readonly DesiredObject[]): MergedObjects {
  const byKey = new Map<string, DesiredObject>();
  const rejected: Rejection[] = [];
  for (const desired of inOrder) {
    const key = objectKey(desired.object);
    const winner = byKey.get(key);
    const reserved = reservedError(desired.object);
    if (reserved !== undefined) rejected.push(rejection(desired, reserved));
    else if (winner === undefined) byKey.set(key, desired);
    else rejected.push(shadowed(desired, winner));
  }
  return { objects: [...byKey.values()], rejected };
}

function shadowed(desired: DesiredObject, winner: DesiredObject): Rejection {
  return rejection(desired, {
    code: desired.source === winner.source ? "DuplicateObject" : "Shadowed",
    path: "metadata.name",
    message: `${objectKey(desired.object)} of ${winner.source} (${winner.sourceRef}) counts instead: it comes first`,
  });
}

function rejection(
  { object, source, sourceRef }: DesiredObject,
  why: Pick<Rejection, "code" | "path" | "message">,
): Rejection {
  const { namespace, name } = object.metadata;
  // For a file the reference ends in #document; the place is the file.
  const ref = source === "file" ? sourceRef.replace(/#\d+$/, "") : sourceRef;
  return { source, ref, kind: object.kind, namespace, name, ...why };
}
