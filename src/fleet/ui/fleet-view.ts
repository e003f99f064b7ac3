// The rows of all nodes with a version each, so that a slow reader gets the newest state and not each step to it.

import type { NodeRow } from "./node-row.ts";

/** Nodes that the page shows. */
export const MAX_NODES = 50_000;
/** Removed nodes that are remembered; a reader that missed more gets everything anew. */
const MAX_REMOVED = 1000;

export interface Changes {
  readonly version: number;
  /** The reader drops what it has. */
  readonly isWhole: boolean;
  readonly rows: readonly NodeRow[];
  readonly removed: readonly string[];
}

interface Versioned {
  readonly row: NodeRow;
  readonly text: string;
  readonly version: number;
}

export class FleetView {
  readonly #rows = new Map<string, Versioned>();
  readonly #removed = new Map<string, number>();
  #version = 1;
  /** Of removals before it nothing is known. */
  #floor = 1;

  /** Ignores what changes nothing, and nodes beyond MAX_NODES. */
  put(row: NodeRow): void {
    const text = JSON.stringify(row);
    const known = this.#rows.get(row.name);
    if (known?.text === text || (known === undefined && this.#rows.size >= MAX_NODES)) return;
    this.#version += 1;
    this.#removed.delete(row.name);
    this.#rows.set(row.name, { row, text, version: this.#version });
  }

  /** Exactly these are there. */
  keep(rows: readonly NodeRow[]): void {
    const names = new Set(rows.map(({ name }) => name));
    for (const name of this.#rows.keys()) if (!names.has(name)) this.remove(name);
    for (const row of rows) this.put(row);
  }

  remove(name: string): void {
    if (!this.#rows.delete(name)) return;
    this.#version += 1;
    this.#removed.set(name, this.#version);
    const [oldest] = this.#removed;
    if (oldest === undefined || this.#removed.size <= MAX_REMOVED) return;
    this.#removed.delete(oldest[0]);
    this.#floor = oldest[1];
  }

  /** What has changed after `version`; 0 = everything. undefined = nothing. */
  since(version: number): Changes | undefined {
    if (version === this.#version) return undefined;
    const isWhole = version < this.#floor;
    const after = isWhole ? 0 : version;
    const changed = [...this.#rows.values()].filter((one) => one.version > after);
    const removed = isWhole ? [] : [...this.#removed].filter(([, at]) => at > after);
    return {
      version: this.#version,
      isWhole,
      rows: changed.map(({ row }) => row),
      removed: removed.map(([name]) => name),
    };
  }
}
