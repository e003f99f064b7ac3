// Performs: stores which images this agent has brought to the node, and how long each has been unused: images of others
// are never removed. A lost database makes all images those of others.

import type { Database } from "./sqlite/database.ts";
import { MemoryTable } from "./sqlite/memory-table.ts";

/** `Archive`: from the archive directory; `Imported`: by an operator's command. */
export type ImageOrigin = "Pulled" | "Imported" | "Archive";

export interface BroughtImage {
  /** The runtime's id, `sha256:…`. */
  readonly id: string;
  /** Full names under which it was brought. */
  readonly names: readonly string[];
  /** Other keys by which containers refer to it: `@sha256:…`. */
  readonly digests: readonly string[];
  readonly origin: ImageOrigin;
  /** ms for which it had been unused at `at`; -1 = it was in use. */
  readonly idleMs: number;
  /** The boot in which this was written. */
  readonly bootId: string;
  /** ms since that boot. */
  readonly at: number;
}

interface Row {
  readonly id: string;
  /** One in a line. */
  readonly names: string;
  readonly digests: string;
  readonly origin: string;
  readonly idle: number;
  readonly boot: string;
  readonly at: number;
}

export class BroughtImages {
  readonly #table: MemoryTable<Row, "id">;

  constructor(database: Database) {
    const values = ["names", "digests", "origin", "idle", "boot", "at"] as const;
    this.#table = new MemoryTable(database, "image", { key: ["id"], values });
  }

  all(): readonly BroughtImage[] {
    return this.#table.all().map(imageOf);
  }

  get(id: string): BroughtImage | undefined {
    const row = this.#table.get({ id });
    return row === undefined ? undefined : imageOf(row);
  }

  put(images: readonly BroughtImage[]): void {
    this.#table.put(images.map(rowOf));
  }

  /** Not durable: a power cut may bring back rows of images that are gone, which the next look removes. */
  forget(ids: ReadonlySet<string>): void {
    this.#table.remove(({ id }) => ids.has(id));
  }
}

function imageOf({ id, names, digests, origin, idle, boot, at }: Row): BroughtImage {
  return {
    id,
    names: lines(names),
    digests: lines(digests),
    origin: origin === "Archive" || origin === "Imported" ? origin : "Pulled",
    idleMs: idle,
    bootId: boot,
    at,
  };
}

function rowOf({ id, names, digests, origin, idleMs, bootId, at }: BroughtImage): Row {
  return {
    id,
    names: names.join("\n"),
    digests: digests.join("\n"),
    origin,
    idle: Math.round(idleMs),
    boot: bootId,
    at: Math.round(at),
  };
}

function lines(text: string): readonly string[] {
  return text === "" ? [] : text.split("\n");
}
