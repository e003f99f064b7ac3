// Merges the ConfigMaps, Secrets and claims of all sources: of two with one name the source that ranks higher wins.

import { type DesiredObject, objectKey } from "../api/v1/object/local-object.ts";
import type { Rejection, DesiredPod } from "../api/pod/desired-pod.ts";
import { reservedError } from "../api/pod/node-object.ts";
import type { SourceName } from "../api/pod/labels.ts";

interface Placed {
  readonly source: SourceName;
  readonly sourceRef: string;
  readonly object: DesiredPod["pod"] | DesiredObject["object"];
}

interface MergedObjects {
  readonly objects: readonly DesiredObject[];
  readonly rejected: readonly Rejection[];
}

/** ConfigMaps, Secrets and claims, in order of precedence: the first of a name wins. */
export function mergeObjects(inOrder: readonly DesiredObject[]): MergedObjects {
  const byKey = new Map<string, DesiredObject>();
  const rejected: Rejection[] = [];
  for (const desired of inOrder) {
    const key = objectKey(desired.object);
    const winner = byKey.get(key);
    const reserved = reservedError(desired.object);
    if (reserved !== undefined) rejected.push(rejectionOf(desired, reserved));
    else if (winner === undefined) byKey.set(key, desired);
    else rejected.push(shadowedObject(desired, winner));
  }
  return { objects: [...byKey.values()], rejected };
}

function shadowedObject(desired: DesiredObject, winner: DesiredObject): Rejection {
  return rejectionOf(desired, {
    code: desired.source === winner.source ? "DuplicateObject" : "Shadowed",
    path: "metadata.name",
    message: `${objectKey(desired.object)} of ${place(winner)} counts instead: it comes first`,
  });
}

export function rejectionOf(
  { source, sourceRef, object }: Placed,
  why: AdmissionRefusal,
): Rejection {
  const { kind, metadata } = object;
  const { namespace, name } = metadata;
  // The sourceRef of a file ends in #document; a rejection names the file.
  const ref = source === "file" ? sourceRef.replace(/#\d+$/, "") : sourceRef;
  return { source, ref, kind, namespace, name, ...why };
}

export function place({ source, sourceRef }: Pick<DesiredPod, "source" | "sourceRef">): string {
  return `${source} (${sourceRef})`;
}

/** Why a pod is not admitted: `code` is the kubelet's reason, `path` the field that asks for too much. */
export type AdmissionRefusal = Pick<Rejection, "code" | "path" | "message">;
