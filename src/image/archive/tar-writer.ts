// Headers of a tar archive that is written as a stream: same content, same bytes.

import { BLOCK } from "./tar-header.ts";

/** The largest size in octal digits; larger ones are written in binary, as GNU tar does. */
const LARGEST_OCTAL = 8 ** 11 - 1;

/** Of a regular file, owner root, mode 0644, time 0; `path` has at most 100 bytes. */
export function fileHeader(path: string, size: number): Uint8Array {
  const block = new Uint8Array(BLOCK);
  put(block, 0, path);
  put(block, 100, "0000644\0");
  put(block, 108, "0000000\0");
  put(block, 116, "0000000\0");
  putSize(block, size);
  put(block, 136, "00000000000\0");
  put(block, 148, " ".repeat(8));
  put(block, 156, "0");
  put(block, 257, "ustar\u000000");
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(block, 148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return block;
}

/** After the content of a file. */
export function padding(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}

/** After the last file. */
export function endOfArchive(): Uint8Array {
  return new Uint8Array(2 * BLOCK);
}

function putSize(block: Uint8Array, size: number): void {
  if (size <= LARGEST_OCTAL) return put(block, 124, `${size.toString(8).padStart(11, "0")}\0`);
  let left = size;
  for (let index = 135; index > 124; index -= 1) {
    block[index] = left % 256;
    left = Math.floor(left / 256);
  }
  block[124] = 0x80;
}

function put(block: Uint8Array, offset: number, text: string): void {
  block.set(new TextEncoder().encode(text), offset);
}
