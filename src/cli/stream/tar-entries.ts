// Headers of a tar archive with files, directories and symbolic links, for the tar of a container. GNU's form of long names
// is the one that every tar reads.

import { padding } from "../../image/archive/tar-writer.ts";

export interface LocalEntry {
  readonly type: "File" | "Directory" | "SymLink";
  /** In the archive. */
  readonly path: string;
  readonly mode: number;
  /** Bytes of a file. */
  readonly size: number;
  /** Seconds since 1970. */
  readonly modified: number;
  /** Target of a symbolic link. */
  readonly link: string;
}

const BLOCK = 512;
const SHORT = 100;
const FLAGS = { File: "0", Directory: "5", SymLink: "2", NextPath: "L", NextLink: "K" } as const;

/** Everything before the content of the entry. */
export function entryHeader(entry: LocalEntry): Uint8Array {
  const path = entry.type === "Directory" ? `${entry.path}/` : entry.path;
  return Buffer.concat([
    longName(path, FLAGS.NextPath),
    longName(entry.link, FLAGS.NextLink),
    block({ ...entry, path, flag: FLAGS[entry.type] }),
  ]);
}

function longName(name: string, flag: string): Uint8Array {
  const bytes = new TextEncoder().encode(`${name}\0`);
  if (bytes.length <= SHORT) return new Uint8Array();
  const { length: size } = bytes;
  const head = { path: "././@LongLink", mode: 0, size, modified: 0, link: "", flag };
  return Buffer.concat([block(head), bytes, padding(size)]);
}

type Block = Omit<LocalEntry, "type"> & { readonly flag: string };

function block({ path, mode, size, modified, link, flag }: Block): Uint8Array {
  const bytes = Buffer.alloc(BLOCK);
  const put = (offset: number, length: number, text: string): void =>
    void bytes.write(text, offset, length, "utf8");
  put(0, SHORT, path);
  put(100, 8, octal(mode & 0o7777, 7));
  put(108, 8, octal(0, 7));
  put(116, 8, octal(0, 7));
  putNumber(bytes, { offset: 124, value: size });
  putNumber(bytes, { offset: 136, value: Math.max(0, Math.floor(modified)) });
  put(148, 8, " ".repeat(8));
  put(156, 1, flag);
  put(157, SHORT, link);
  put(257, 8, "ustar  \0");
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  put(148, 8, `${sum.toString(8).padStart(6, "0")}\0 `);
  return bytes;
}

function octal(value: number, digits: number): string {
  return `${value.toString(8).padStart(digits, "0")}\0`;
}

/** Twelve bytes: octal digits, or binary where these do not suffice. */
function putNumber(
  bytes: Buffer,
  { offset, value }: { readonly offset: number; readonly value: number },
): void {
  if (value < 8 ** 11) return void bytes.write(octal(value, 11), offset, 12, "latin1");
  bytes[offset] = 0x80;
  let left = value;
  for (let index = offset + 11; index > offset; index -= 1) {
    bytes[index] = left % 256;
    left = Math.floor(left / 256);
  }
}
