// A small ustar writer: same entries, same bytes.

export type TarEntry =
  | {
      readonly type: "file";
      readonly path: string;
      readonly mode: number;
      readonly data: Uint8Array;
    }
  | { readonly type: "directory"; readonly path: string; readonly mode: number }
  | { readonly type: "symlink"; readonly path: string; readonly target: string };

const BLOCK = 512;

/** Paths of at most 100 bytes, owner root, time 0. */
export function tar(entries: readonly TarEntry[]): Uint8Array {
  const blocks = entries.flatMap((entry) =>
    entry.type === "file" ? [header(entry), padded(entry.data)] : [header(entry)],
  );
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function header(entry: TarEntry): Buffer {
  const path = entry.type === "directory" ? `${entry.path}/` : entry.path;
  if (Buffer.byteLength(path) > 100)
    throw new Error(`the path ${path} is too long for a tar header`);
  const block = Buffer.alloc(BLOCK);
  block.write(path, 0);
  block.write(octal(entry.type === "symlink" ? 0o777 : entry.mode, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(entry.type === "file" ? entry.data.length : 0, 12), 124);
  block.write(octal(0, 12), 136);
  block.write(" ".repeat(8), 148);
  block.write({ file: "0", directory: "5", symlink: "2" }[entry.type], 156);
  if (entry.type === "symlink") block.write(entry.target, 157);
  block.write("ustar\u000000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** `width` bytes: octal digits and a terminating NUL. */
function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, "0")}\0`;
}

function padded(data: Uint8Array): Buffer {
  const rest = (BLOCK - (data.length % BLOCK)) % BLOCK;
  return Buffer.concat([data, Buffer.alloc(rest)]);
}
