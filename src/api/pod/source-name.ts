// Who asks for pods and objects.

/** Where a pod comes from; also the value of the annotation `agent/source` on its sandbox. */
export type SourceName = "file" | "http" | "mqtt:node" | `mqtt:group/${string}`;
