// A tar archive with one executable file in it: all that a layer of ours holds.

const BLOCK = 512;

/** POSIX ustar; `path` is relative and at most 100 bytes; owner root, mode 0755, time 0, so that equal input gives equal bytes. */
export function tarOfExecutable(path: string, content: Uint8Array): Uint8Array {
  const padded = Math.ceil(content.length / BLOCK) * BLOCK;
  // Two empty blocks end an archive.
  const archive = new Uint8Array(BLOCK + padded + 2 * BLOCK);
  const text = new TextEncoder();
  const put = (at: number, value: string): void => archive.set(text.encode(value), at);
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, "0");

  put(0, path);
  put(100, octal(0o755, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(content.length, 11));
  put(136, octal(0, 11));
  // The checksum is made with spaces in its own place.
  put(148, " ".repeat(8));
  put(156, "0");
  put(257, "ustar\0" + "00");
  const sum = archive.subarray(0, BLOCK).reduce((total, byte) => total + byte, 0);
  put(148, `${octal(sum, 6)}\0 `);
  archive.set(content, BLOCK);
  return archive;
}
