// Splits a tar archive into entries while it arrives, in chunks of any size; keeps no content.

import { invalidArchive } from "./archive-error.ts";
import { BLOCK, readHeader, readPax, shown, textOf, type TarHeader } from "./tar-header.ts";

export interface TarEntry {
  /** `Special`: a device or a pipe, only if the parser was asked for them. */
  readonly type: "File" | "Directory" | "HardLink" | "SymLink" | "Special";
  /** As written. */
  readonly path: string;
  /** Bytes; 0 of anything but a file. */
  readonly size: number;
  /** Target of a link, as written; "" of anything else. */
  readonly link: string;
}

/** `Data` is a view of the chunk: it is valid until the next `push`. `End`: all content of the last entry has arrived. */
export type TarEvent =
  | { readonly type: "Entry"; readonly entry: TarEntry }
  | { readonly type: "Data"; readonly data: Uint8Array }
  | { readonly type: "End" };

/** An archive of images has some files per layer. */
export const MAX_ENTRIES = 20_000;
/** A long name, or the attributes of one entry. */
export const MAX_EXTENDED_HEADER = 64 * 1024;

/** What the next entry gets from the headers before it. */
type Extended = Partial<Pick<TarHeader, "path" | "link" | "size">>;

type State =
  | { readonly type: "Header" }
  | { readonly type: "Extended"; readonly header: TarHeader }
  | { readonly type: "Content" }
  | { readonly type: "Padding" }
  | { readonly type: "Done" };

export interface TarParserOptions {
  /** Default: what an archive of images has. */
  readonly maxEntries?: number;
  readonly hasSpecials?: boolean;
}

export class TarParser {
  readonly #options: TarParserOptions;
  #state: State = { type: "Header" };
  #extended: Extended = {};
  /** Of content or padding: bytes that have not arrived. */
  #left = 0;
  #padding = 0;
  /** A header, or the content of an extended one, as far as it has arrived. */
  readonly #held = new HeldBytes();
  #entries = 0;

  constructor(options: TarParserOptions = {}) {
    this.#options = options;
  }

  /** The end of the archive was seen; what follows it is ignored. */
  get isDone(): boolean {
    return this.#state.type === "Done";
  }

  /** Throws AgentError `InvalidImageArchive`. */
  push(chunk: Uint8Array): readonly TarEvent[] {
    const events: TarEvent[] = [];
    let rest = chunk;
    while (rest.length > 0 && this.#state.type !== "Done") rest = this.#step(rest, events);
    return events;
  }

  /** No more bytes arrive. Throws AgentError `InvalidImageArchive` unless the archive is complete. */
  finish(): void {
    if (!this.isDone) throw invalidArchive("it ends early: copy it again");
  }

  /** Consumes some bytes; returns the rest. */
  #step(bytes: Uint8Array, events: TarEvent[]): Uint8Array {
    const state = this.#state;
    switch (state.type) {
      case "Header":
        return this.#collect(bytes, BLOCK, (block) => this.#header(block, events));
      case "Extended":
        return this.#collect(bytes, state.header.size, (content) => {
          this.#extended = { ...this.#extended, ...extendedBy(state.header, content) };
          this.#pad();
        });
      case "Content": {
        const data = bytes.subarray(0, this.#left);
        this.#left -= data.length;
        events.push({ type: "Data", data });
        if (this.#left === 0) this.#end(events);
        return bytes.subarray(data.length);
      }
      case "Padding": {
        const skipped = Math.min(this.#left, bytes.length);
        this.#left -= skipped;
        if (this.#left === 0) this.#state = { type: "Header" };
        return bytes.subarray(skipped);
      }
      case "Done":
        return bytes.subarray(bytes.length);
    }
  }

  #collect(bytes: Uint8Array, size: number, done: (all: Uint8Array) => void): Uint8Array {
    const part = bytes.subarray(0, size - this.#held.length);
    this.#held.add(part);
    if (this.#held.length === size) done(this.#held.take());
    return bytes.subarray(part.length);
  }

  #header(block: Uint8Array, events: TarEvent[]): void {
    const { maxEntries = MAX_ENTRIES } = this.#options;
    const header = readHeader(block, this.#options);
    if (header === undefined) {
      this.#state = { type: "Done" };
      return;
    }
    this.#entries += 1;
    if (this.#entries > maxEntries) throw invalidArchive(`it has more than ${maxEntries} entries`);
    const { type, size } = header;
    this.#padding = (BLOCK - (size % BLOCK)) % BLOCK;
    switch (type) {
      case "NextPath":
      case "NextLink":
      case "Pax":
      case "PaxGlobal":
        if (size > MAX_EXTENDED_HEADER || size === 0)
          throw invalidArchive(`an extended header has ${size} bytes`);
        this.#state = { type: "Extended", header };
        return;
      case "File":
      case "Directory":
      case "HardLink":
      case "SymLink":
      case "Special":
        this.#begin({ ...header, ...this.#extended, type }, events);
    }
  }

  #begin(header: TarHeader & Pick<TarEntry, "type">, events: TarEvent[]): void {
    const { type, path, link } = header;
    const size = type === "File" ? header.size : 0;
    this.#extended = {};
    this.#padding = (BLOCK - (size % BLOCK)) % BLOCK;
    if (path === "") throw invalidArchive("an entry has no name");
    // Old archives mark a directory by its name only.
    const isDirectory = type === "File" && path.endsWith("/");
    if (isDirectory && size > 0) throw invalidArchive(`directory ${shown(path)} has content`);
    const entry = { type: isDirectory ? ("Directory" as const) : type, path, size, link };
    events.push({ type: "Entry", entry });
    this.#left = size;
    if (size === 0) this.#end(events);
    else this.#state = { type: "Content" };
  }

  #end(events: TarEvent[]): void {
    events.push({ type: "End" });
    this.#pad();
  }

  #pad(): void {
    this.#left = this.#padding;
    this.#state = this.#left === 0 ? { type: "Header" } : { type: "Padding" };
  }
}

function extendedBy({ type }: TarHeader, content: Uint8Array): Extended {
  if (type === "NextPath") return { path: textOf(content) };
  if (type === "NextLink") return { link: textOf(content) };
  // The attributes of all files have nothing that an image archive needs.
  return type === "Pax" ? readPax(content) : {};
}

/** Bytes that arrive in parts. */
class HeldBytes {
  #parts: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(part: Uint8Array): void {
    this.#length += part.length;
    // A copy: the chunk that it is a view of may be used again. Buffer's own slice() makes none.
    this.#parts.push(new Uint8Array(part));
  }

  take(): Uint8Array {
    const all = new Uint8Array(this.#length);
    let offset = 0;
    for (const part of this.#parts) {
      all.set(part, offset);
      offset += part.length;
    }
    this.#parts = [];
    this.#length = 0;
    return all;
  }
}
