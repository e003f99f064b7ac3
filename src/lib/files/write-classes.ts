// What the agent writes to the disk, by its kind: the label `class` of `agent_written_bytes_total`.

export type WriteClass =
  /** The database: its log and its checkpoints. */
  | "database"
  /** Accepted documents and the copy of the updates' state. */
  | "documents"
  /** Other files of stateDir. */
  | "state"
  /** Manifests that clients write, and whatever else. */
  | "manifests"
  /** Lines of the agent's own log. */
  | "journal"
  /** Content of images that the agent had brought, as containerd stores it. */
  | "images"
  /** Logs of containers that the agent compresses. */
  | "container_logs"
  /** Versions of the agent. */
  | "updates";

/** Called with the bytes of one write. */
export type CountWritten = (kind: WriteClass, bytes: number) => void;
