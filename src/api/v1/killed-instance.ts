// What is remembered of a container that is ended so that another instance takes its place.

export interface KilledInstance {
  readonly id: string;
  /** It is replaced whatever the restart policy says: it was not what the pod asks for. */
  readonly always: boolean;
}

/** By container name. */
export type KilledInstances = ReadonlyMap<string, KilledInstance>;
