// Where desired pods and objects come from.

/** Where a pod comes from; also the value of the annotation `agent/source` on its sandbox. */
export type SourceName = "file" | "http" | "mqtt:node" | `mqtt:group/${string}`;

export function isSourceName(value: unknown): value is SourceName {
  if (typeof value !== "string") return false;
  return ["file", "http", "mqtt:node"].includes(value) || value.startsWith("mqtt:group/");
}
