// A card of a few gigabytes in memory: files have names and sizes, and no content.

import type { FileInfo, Files } from "../../../../src/host/files.ts";
import { AgentError } from "../../../../src/lib/errors.ts";

interface CardFile {
  readonly identity: string;
  size: number;
}

export class Card {
  readonly capacity: number;
  readonly #files = new Map<string, CardFile>();
  #identities = 0;
  /** What the log of a container goes to, whatever its name is now. */
  readonly #open = new Map<string, CardFile>();
  largest = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get used(): number {
    let sum = 0;
    for (const { size } of this.#files.values()) sum += size;
    return sum;
  }

  get names(): readonly string[] {
    return [...this.#files.keys()];
  }

  put(path: string, size: number): void {
    this.#identities += 1;
    this.#files.set(path, { identity: `1:${this.#identities}`, size });
    this.#mark();
  }

  open(id: string, path: string): void {
    if (!this.#files.has(path)) this.put(path, 0);
    const file = this.#files.get(path);
    if (file !== undefined) this.#open.set(id, file);
  }

  /** Throws when there is no space. */
  write(id: string, bytes: number): void {
    const file = this.#open.get(id);
    if (file === undefined) throw new Error(`${id} has no log`);
    file.size += bytes;
    this.#mark();
    if (this.used > this.capacity) throw new Error("no space left on device");
  }

  #mark(): void {
    this.largest = Math.max(this.largest, this.used);
  }

  get files(): Files {
    const known: Partial<Files> = {
      info: (path) => this.#info(path),
      list: (path) => this.#list(path),
      remove: (path) => void this.#files.delete(path),
      rename: (from, to) => {
        const file = this.#files.get(from);
        if (file === undefined) throw missing(from);
        this.#files.delete(from);
        this.#files.set(to, file);
      },
      tail: (_path, maxBytes) => new Uint8Array(maxBytes),
      writeAtomic: (path, data) => this.put(path, data.length),
    };
    return known as Files;
  }

  #info(path: string): FileInfo | undefined {
    const file = this.#files.get(path);
    const name = path.slice(path.lastIndexOf("/") + 1);
    const common = { name, mtimeMs: 0, owner: 0, mode: 0o640 };
    if (file !== undefined) return { ...common, ...file, kind: "file" };
    const isDirectory = this.names.some((one) => one.startsWith(`${path}/`));
    return isDirectory ? { ...common, kind: "directory", size: 0, identity: path } : undefined;
  }

  #list(path: string): readonly FileInfo[] {
    const below = this.names.filter((one) => one.startsWith(`${path}/`));
    const names = new Set(below.map((one) => one.slice(path.length + 1).split("/")[0] ?? ""));
    return [...names].toSorted().flatMap((name) => this.#info(`${path}/${name}`) ?? []);
  }
}

function missing(path: string): AgentError {
  return new AgentError({ reason: "FileError", message: `there is no ${path}` });
}
