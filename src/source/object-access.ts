// Which pods may use which objects: an unsigned document must not fetch what never travels (MQTT.md §2). Pure.

import type { SourceName } from "../api/desired-pod.ts";
import type { DesiredObject } from "../api/local-object.ts";

/** Static pods use only what is static itself; pods of unsigned documents of that no Secrets, and no other pods' data. */
export function mayUse(reader: SourceName, { object, source }: DesiredObject): boolean {
  if (!listensTo(reader, source)) return false;
  return isStatic(reader) || object.kind === "ConfigMap" || !isStatic(source);
}

/** Whether what pods of `reader` find depends on the word of `source`: files hide what documents say. */
export function listensTo(reader: SourceName, source: SourceName): boolean {
  return !isStatic(reader) || isStatic(source);
}

function isStatic(source: SourceName): boolean {
  return source === "file" || source === "http";
}
