// Reads the headers of tar entries: ustar, the extensions of GNU and of POSIX (pax).

import { invalidArchive } from "./archive-error.ts";

export const BLOCK = 512;

/** `NextPath`, `NextLink` and `Pax` have no place of their own: their content describes the entry that follows. */
export type TarType =
  | "File"
  | "Directory"
  | "HardLink"
  | "SymLink"
  | "Special"
  | "NextPath"
  | "NextLink"
  | "Pax"
  | "PaxGlobal";

export interface TarHeader {
  readonly type: TarType;
  /** As written. */
  readonly path: string;
  /** Bytes of content. */
  readonly size: number;
  /** Target of a link, as written; "" of anything else. */
  readonly link: string;
}

const TYPES: Readonly<Record<string, TarType>> = {
  "\0": "File",
  "0": "File",
  "7": "File",
  "1": "HardLink",
  "2": "SymLink",
  "5": "Directory",
  L: "NextPath",
  K: "NextLink",
  x: "Pax",
  g: "PaxGlobal",
};

/** Devices and pipes; no image needs them. */
const SPECIAL = ["3", "4", "6"];

/** undefined = a block of zeros: the end of the archive. Throws AgentError `InvalidImageArchive`. */
export function readHeader(
  block: Uint8Array,
  { hasSpecials = false }: { readonly hasSpecials?: boolean } = {},
): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  if (numberAt(block, 148, 8) !== sumOf(block))
    throw invalidArchive("it is no tar archive, or is damaged (a header has a wrong checksum)");
  const flag = String.fromCharCode(block[156] ?? 0);
  const type = hasSpecials && SPECIAL.includes(flag) ? "Special" : TYPES[flag];
  const name = textAt(block, 0, 100);
  if (type === undefined)
    throw invalidArchive(`entry ${shown(name)} has the type ${shown(flag)}, which no image needs`);
  const isUstar = textAt(block, 257, 5) === "ustar";
  const prefix = isUstar && block[262] === 0 ? textAt(block, 345, 155) : "";
  const size = numberAt(block, 124, 12);
  return {
    type,
    path: prefix === "" ? name : `${prefix}/${name}`,
    // Links and directories have no content, whatever the field contains.
    size: ["HardLink", "SymLink", "Directory", "Special"].includes(type) ? 0 : size,
    link: textAt(block, 157, 100),
  };
}

/** `path`, `linkpath` and `size` of a pax header, if it has them. Throws AgentError `InvalidImageArchive`. */
export function readPax(content: Uint8Array): Partial<Pick<TarHeader, "path" | "link" | "size">> {
  const found = new Map<string, string>();
  for (let start = 0; start < content.length;) {
    const space = content.indexOf(32, start);
    const length = space < 0 ? Number.NaN : Number(decode(content.subarray(start, space)));
    const end = start + length;
    if (!Number.isSafeInteger(length) || end <= space || content[end - 1] !== 10)
      throw invalidArchive("an extended header is damaged");
    const record = decode(content.subarray(space + 1, end - 1));
    const equals = record.indexOf("=");
    found.set(record.slice(0, Math.max(equals, 0)), record.slice(equals + 1));
    start = end;
  }
  const [path, link, size] = ["path", "linkpath", "size"].map((key) => found.get(key));
  return {
    ...(path === undefined ? {} : { path }),
    ...(link === undefined ? {} : { link }),
    ...(size === undefined ? {} : { size: checkedSize(/^\d+$/.test(size) ? Number(size) : -1) }),
  };
}

/** Text up to the first NUL. */
export function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** Of a name from an archive, in a message. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

function textAt(block: Uint8Array, offset: number, length: number): string {
  return textOf(block.subarray(offset, offset + length));
}

/** Octal digits, or the big-endian binary number of GNU tar for large files. */
function numberAt(block: Uint8Array, offset: number, length: number): number {
  const field = block.subarray(offset, offset + length);
  const [first = 0] = field;
  if (first >= 128) {
    let value = first & 127;
    for (const byte of field.subarray(1)) value = value * 256 + byte;
    return checkedSize(value);
  }
  const digits = textOf(field).trim();
  if (!/^[0-7]*$/.test(digits)) throw invalidArchive("a header has a field that is no number");
  return checkedSize(digits === "" ? 0 : Number.parseInt(digits, 8));
}

function checkedSize(value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw invalidArchive("a header has an impossible size");
}

/** Of all bytes, with the checksum's own field as spaces. */
function sumOf(block: Uint8Array): number {
  let sum = 8 * 32;
  for (const [index, byte] of block.entries()) if (index < 148 || index >= 156) sum += byte;
  return sum;
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
