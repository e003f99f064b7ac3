// Performs: writes a tar archive from a pod below one place of this machine, and nowhere else. No symbolic link is made, so
// that none can lead out of it.

import { copyFile, lstat, mkdir, open, stat, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TarParser, type TarEntry, type TarEvent } from "../../image/archive/tar-parser.ts";
import { CliError } from "../exit-codes.ts";
import { baseName, placedEntry } from "./copy-places.ts";

interface ExtractOptions {
  /** As tar was asked for it. */
  readonly source: string;
  readonly destination: string;
  readonly warn: (line: string) => void;
}

/** Into a directory that exists the source goes under its own name. */
export class LocalExtract {
  readonly #options: ExtractOptions;
  readonly #target: string;
  readonly #parser = new TarParser({ maxEntries: Infinity, hasSpecials: true });
  #file: FileHandle | undefined;
  #isEmpty = true;

  private constructor(options: ExtractOptions, target: string) {
    this.#options = options;
    this.#target = target;
  }

  static async open(options: ExtractOptions): Promise<LocalExtract> {
    const { destination, source } = options;
    const facts = await stat(destination).catch(() => undefined);
    if (facts === undefined && destination.endsWith("/"))
      throw new CliError(`${destination} is no directory`);
    const isDirectory = facts?.isDirectory() === true;
    return new LocalExtract(
      options,
      isDirectory ? join(destination, baseName(source)) : destination,
    );
  }

  async push(data: Uint8Array): Promise<void> {
    for (const event of this.#parser.push(data)) await this.#handle(event);
  }

  /** Rejects if the archive is not complete or there was nothing in it. */
  async finish(): Promise<void> {
    await this.#file?.close();
    if (this.#isEmpty) throw new CliError(`${this.#options.source}: no such file or directory`);
    this.#parser.finish();
  }

  async #handle(event: TarEvent): Promise<void> {
    switch (event.type) {
      case "Entry":
        this.#isEmpty = false;
        return this.#begin(event.entry);
      case "Data":
        await this.#write(event.data);
        return;
      case "End":
        await this.#file?.close();
        this.#file = undefined;
    }
  }

  async #write(data: Uint8Array): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    for (let at = 0; at < data.length;)
      at += (await file.write(data, at, data.length - at)).bytesWritten;
  }

  async #begin({ type, path, link }: TarEntry): Promise<void> {
    const target = this.#placed(path);
    if (target === undefined) return;
    switch (type) {
      case "Directory":
        await mkdir(target, { recursive: true });
        return;
      case "File":
        await mkdir(dirname(target), { recursive: true });
        this.#file = await open(target, "w");
        return;
      case "HardLink":
        return this.#copy(target, link);
      case "SymLink":
        this.#options.warn(
          `warning: skipping symlink: ${JSON.stringify(path)} -> ${JSON.stringify(link)}`,
        );
        return;
      case "Special":
        this.#options.warn(`warning: skipping ${JSON.stringify(path)}: it is a device or a pipe`);
    }
  }

  #placed(path: string): string | undefined {
    const placed = placedEntry(path, this.#options.source);
    if (placed.type === "Inside") return join(this.#target, placed.path);
    this.#options.warn(
      `warning: file ${JSON.stringify(path)} is outside target destination, skipping`,
    );
    return undefined;
  }

  /** Its content came with the name that is linked to. */
  async #copy(target: string, link: string): Promise<void> {
    const from = this.#placed(link);
    const facts = from === undefined ? undefined : await lstat(from).catch(() => undefined);
    if (from === undefined || facts?.isFile() !== true) return;
    await mkdir(dirname(target), { recursive: true });
    await copyFile(from, target);
  }
}
