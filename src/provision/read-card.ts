// Performs: reads a provisioning directory: the files that the agent takes over, within bounds.

import { FILE_LIMITS } from "../api/yaml/text-limits.ts";
import type { FileInfo, Files } from "../host/files.ts";
import { ARCHIVE_NAME } from "../image/archive/plan-archives.ts";
import { messageOf } from "../lib/errors.ts";
import { grouped } from "../lib/short-text.ts";
import { below, DIRECTORIES, IMAGES, isBeside, kindOf, type PartKind } from "./card-files.ts";

export interface CardFile {
  /** Relative: `tls/client.key`. */
  readonly name: string;
  readonly kind: PartKind;
  readonly bytes: Uint8Array;
}

/** An image archive, which is imported from where it is. */
export interface CardArchive {
  readonly name: string;
  readonly size: number;
}

/** A file that does not count, with what helps. */
export interface CardRefusal {
  readonly name: string;
  readonly message: string;
  readonly remedy: string;
}

export interface Card {
  readonly files: readonly CardFile[];
  readonly archives: readonly CardArchive[];
  readonly refused: readonly CardRefusal[];
  /** Names that mean nothing to the agent. */
  readonly unknown: readonly string[];
}

/** Of a provisioning directory and each directory in it. */
export const MAX_CARD_ENTRIES = 1000;
/** Of all files together, without image archives. */
export const MAX_CARD_BYTES = 16 * 1024 * 1024;

const KNOWN = `agent.yaml, mqtt-password, registry-auth.json, ${DIRECTORIES.map((name) => `${name}/`).join(", ")}`;
export const NAME_REMEDY = `name it as one of ${KNOWN}, or remove it`;

/** Throws AgentError `FileError` when the directory cannot be listed. */
export function readCard(files: Pick<Files, "list" | "read" | "target">, directory: string): Card {
  const reading = new Reading(files, directory);
  reading.top();
  return reading.card;
}

class Reading {
  readonly card = {
    files: [] as CardFile[],
    archives: [] as CardArchive[],
    refused: [] as CardRefusal[],
    unknown: [] as string[],
  };
  readonly #files: Pick<Files, "list" | "read" | "target">;
  readonly #directory: string;
  #bytes = 0;

  constructor(files: Pick<Files, "list" | "read" | "target">, directory: string) {
    this.#files = files;
    this.#directory = directory;
  }

  top(): void {
    for (const info of this.#list("")) {
      const { name, kind } = info;
      if (isBeside(name)) continue;
      if (kind !== "directory") this.#file(name, info);
      else if (DIRECTORIES.includes(name)) this.#directoryOf(name);
      else this.card.unknown.push(`${name}/`);
    }
  }

  #directoryOf(directory: string): void {
    let entries: readonly FileInfo[] = [];
    try {
      entries = this.#list(directory);
    } catch (error) {
      this.#refuse(directory, messageOf(error), "check the file system of the card");
    }
    for (const info of entries) {
      if (isBeside(info.name)) continue;
      const name = `${directory}/${info.name}`;
      if (directory === IMAGES) this.#archive(name, info);
      else this.#file(name, info);
    }
  }

  #list(directory: string): readonly FileInfo[] {
    const path = directory === "" ? this.#directory : below(this.#directory, directory);
    const entries = this.#files.list(path);
    if (entries.length > MAX_CARD_ENTRIES)
      this.#refuse(
        directory === "" ? "." : directory,
        `has ${grouped(entries.length)} entries, of which only the first ${grouped(MAX_CARD_ENTRIES)} count`,
        "put several manifests into one file",
      );
    return entries.slice(0, MAX_CARD_ENTRIES);
  }

  #archive(name: string, { kind, size }: FileInfo): void {
    if (!ARCHIVE_NAME.test(name.slice(IMAGES.length + 1))) this.card.unknown.push(name);
    else if (kind === "file" && size > 0) this.card.archives.push({ name, size });
    else this.#refuse(name, "is empty or no regular file", "put an image archive there");
  }

  #file(name: string, info: FileInfo): void {
    const kind = kindOf(name);
    if (kind === undefined) return void this.card.unknown.push(name);
    if (info.kind !== "file")
      return this.#refuse(name, "is no regular file", "put the file itself there");
    if (info.size > FILE_LIMITS.bytes)
      return this.#refuse(
        name,
        `has ${grouped(info.size)} bytes, at most ${grouped(FILE_LIMITS.bytes)}`,
        "put a smaller file there",
      );
    if (this.#bytes + info.size > MAX_CARD_BYTES)
      return this.#refuse(
        name,
        `is beyond the ${grouped(MAX_CARD_BYTES)} bytes that all files may have together`,
        "copy large manifests to the node itself",
      );
    try {
      const bytes = this.#files.read(below(this.#directory, name), FILE_LIMITS.bytes);
      this.#bytes += bytes.length;
      this.card.files.push({ name, kind, bytes });
    } catch (error) {
      this.#refuse(name, messageOf(error), "check the file system of the card");
    }
  }

  #refuse(name: string, message: string, remedy: string): void {
    this.card.refused.push({ name, message, remedy });
  }
}
