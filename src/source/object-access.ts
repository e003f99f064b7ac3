// Which pods may use which objects: an unsigned document must not read objects that only the node's files declare.

import type { DesiredPod, SourceName } from "../api/pod/desired-pod.ts";
import { isStatic } from "../api/pod/labels.ts";
import type { DesiredObject } from "../api/v1/object/local-object.ts";

/** The pod that reads. */
export type Reader = Pick<DesiredPod, "source" | "signed">;

/** Static pods use only static objects. Of those, pods of signed documents may use ConfigMaps and Secrets, pods of
 * unsigned documents ConfigMaps; neither may use claims. */
export function mayUse({ source: reader, signed }: Reader, desired: DesiredObject): boolean {
  const { object, source } = desired;
  if (!listensTo(reader, source)) return false;
  if (isStatic(reader) || !isStatic(source)) return true;
  return object.kind === "ConfigMap" || (object.kind === "Secret" && signed === true);
}

/** Whether pods of `reader` may read any objects of `source`: static pods read no objects of documents. */
export function listensTo(reader: SourceName, source: SourceName): boolean {
  return !isStatic(reader) || isStatic(source);
}
