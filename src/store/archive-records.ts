// Performs: stores which image archives were imported, so that none is read again without need.

import { isJsonObject, parseJson } from "../lib/json.ts";
import type { Meta } from "./meta.ts";

export interface ArchiveRecord {
  /** Inode, size and time of the file that was read. */
  readonly look: string;
  /** Full names of its images; of a refused one, those of the file before it. */
  readonly names: readonly string[];
  /** Why it was refused, and by which version of the agent; absent = imported. */
  readonly refused?: { readonly why: string; readonly version: string };
}

export const ARCHIVE_PREFIX = "image-archive:";

export class ArchiveRecords {
  readonly #meta: Meta;

  constructor(meta: Meta) {
    this.#meta = meta;
  }

  /** By the name of the file. What cannot be read is left out: that archive is imported again. */
  load(): ReadonlyMap<string, ArchiveRecord> {
    const entries = this.#meta.keys(ARCHIVE_PREFIX).flatMap((key): [string, ArchiveRecord][] => {
      const record = decodeArchiveRecord(this.#meta.get(key) ?? "");
      return record === undefined ? [] : [[key.slice(ARCHIVE_PREFIX.length), record]];
    });
    return new Map(entries);
  }

  put(file: string, record: ArchiveRecord): void {
    this.#meta.set(ARCHIVE_PREFIX + file, JSON.stringify(record));
  }

  remove(file: string): void {
    this.#meta.remove(ARCHIVE_PREFIX + file);
  }
}

export function decodeArchiveRecord(text: string): ArchiveRecord | undefined {
  const value = parseJson(text);
  if (!isJsonObject(value)) return undefined;
  const { look, names, refused } = value;
  if (typeof look !== "string" || !Array.isArray(names)) return undefined;
  const known = { look, names: names.filter((name) => typeof name === "string") };
  if (!isJsonObject(refused)) return known;
  const { why, version } = refused;
  return typeof why === "string" && typeof version === "string"
    ? { ...known, refused: { why, version } }
    : undefined;
}
