// Performs: stores what no label in the runtime records of a pod: removals in progress, failures of whole pods,
// containers that the agent stops in order to replace them, and operators' holds. On the disk when a write returns,
// unless noted otherwise.

import type { Removal } from "../api/pod/desired-pod.ts";
import type { KilledInstances } from "../api/pod/observed-pod.ts";
import type { PodFailure } from "../api/v1/pod-status.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { Database, Durability } from "./sqlite/database.ts";
import { MemoryTable } from "./sqlite/memory-table.ts";

/** From before the first stop until everything is gone: a restart resumes them. */
export class Removals {
  readonly #table: MemoryTable<Removal, "uid">;

  constructor(database: Database) {
    const values = ["namespace", "name", "why"] as const;
    this.#table = new MemoryTable(database, "removal", { key: ["uid"], values });
  }

  /** `Deleted` is never weakened to `Replaced`. */
  begin(removals: readonly Removal[]): void {
    this.#table.put(removals.filter((removal) => this.#table.get(removal)?.why !== "Deleted"));
  }

  /**
   * Deletes the entry; an unknown UID is ignored. `normal` saves the fsync where no pod waits for this UID or name: after
   * a power cut within seconds the removal is repeated, which is harmless.
   */
  settle(uid: PodUID, durability: Durability = "full"): void {
    this.#table.remove((row) => row.uid === uid, durability);
  }

  all(): readonly Removal[] {
    return this.#table.all();
  }
}

/** Pods that failed as a whole (activeDeadlineSeconds, …): a failed pod stays failed over restarts and reboots. */
export class Failures {
  readonly #table: MemoryTable<PodFailure & { readonly uid: PodUID }, "uid">;

  constructor(database: Database) {
    this.#table = new MemoryTable(database, "failure", {
      key: ["uid"],
      values: ["reason", "message"],
    });
  }

  get(uid: PodUID): PodFailure | undefined {
    const row = this.#table.get({ uid });
    return row === undefined ? undefined : { reason: row.reason, message: row.message };
  }

  /** Every pod with an entry. */
  pods(): readonly PodUID[] {
    return this.#table.all().map(({ uid }) => uid);
  }

  /** The first failure of a UID stays. */
  put(uid: PodUID, { reason, message }: PodFailure): void {
    if (this.#table.get({ uid }) === undefined) this.#table.put([{ uid, reason, message }]);
  }

  /** After the pod's end; not durable. An unknown UID is ignored. */
  forget(uid: PodUID): void {
    this.#table.remove((row) => row.uid === uid);
  }
}

interface KilledRow {
  readonly uid: PodUID;
  readonly container: string;
  readonly id: string;
  readonly always: 0 | 1;
}

/** Containers that the agent stops in order to replace them: their exit codes count as no failure. */
export class KilledContainers {
  readonly #table: MemoryTable<KilledRow, "uid" | "container">;

  constructor(database: Database) {
    this.#table = new MemoryTable(database, "killed", {
      key: ["uid", "container"],
      values: ["id", "always"],
    });
  }

  /** By container name. */
  get(uid: PodUID): KilledInstances {
    const rows = this.#table.all().filter((row) => row.uid === uid);
    return new Map(
      rows.map(({ container, id, always }) => [container, { id, always: always === 1 }]),
    );
  }

  /** The newest entry of a container replaces the one before. */
  put(uid: PodUID, killed: KilledInstances): void {
    const rows = [...killed].map(([container, { id, always }]): KilledRow => {
      return { uid, container, id, always: always ? 1 : 0 };
    });
    this.#table.put(rows);
  }

  /** After their replacement; not durable: a power cut may restore the last entries, whose ids are gone then. */
  settle(uid: PodUID, containers: readonly string[]): void {
    this.#table.remove((row) => row.uid === uid && containers.includes(row.container));
  }

  /** After the pod's end; not durable. An unknown UID is ignored. */
  forget(uid: PodUID): void {
    this.#table.remove((row) => row.uid === uid);
  }

  /** Every pod with an entry. */
  pods(): readonly PodUID[] {
    return [...new Set(this.#table.all().map(({ uid }) => uid))];
  }
}

interface HoldRow {
  readonly name: string;
  readonly since: number;
  readonly released: PodUID;
}

/**
 * Which pods are held back from updates, and which pods' own request to hold was overruled. Names are `namespace/name`;
 * "" is the whole node.
 */
export class Holds {
  readonly #table: MemoryTable<HoldRow, "name">;

  constructor(database: Database) {
    const values = ["since", "released"] as const;
    this.#table = new MemoryTable(database, "hold", { key: ["name"], values });
  }

  /** Wall ms of the order, for display only; undefined = not held. */
  since(name: string): number | undefined {
    const row = this.#table.get({ name });
    return row === undefined || row.released !== "" ? undefined : row.since;
  }

  /** Whether this UID's own request to delay replacing its predecessor was overruled. */
  isReleased(name: string, uid: PodUID): boolean {
    return this.#table.get({ name })?.released === uid;
  }

  /** An existing hold keeps its time. */
  hold(name: string, now: number): void {
    if (this.since(name) === undefined) this.#table.put([{ name, since: now, released: "" }]);
  }

  /** An unknown name is ignored. */
  release(name: string): void {
    this.#table.remove((row) => row.name === name, "full");
  }

  /** Ignores this UID's own request to hold from now on. */
  overrule(name: string, uid: PodUID, now: number): void {
    if (!this.isReleased(name, uid)) this.#table.put([{ name, since: now, released: uid }]);
  }
}
