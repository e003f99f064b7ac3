// Performs: files that carry their own checksum. Line 1: magic, format, sha256 of all that follows; then the content.

import { sha256 } from "../lib/system-sha256.ts";

const NEWLINE = 0x0a;

export function withChecksum(magic: string, content: Uint8Array | string): Uint8Array {
  return Buffer.concat([Buffer.from(`${magic} 1 ${sha256(content)}\n`), Buffer.from(content)]);
}

/** The content; undefined when the file is torn, was changed, or has another magic. Any format is accepted. */
export function checkedContent(magic: string, bytes: Uint8Array): Uint8Array | undefined {
  const end = bytes.indexOf(NEWLINE);
  if (end < 0) return undefined;
  const [found, , checksum] = textOf(bytes.subarray(0, end)).split(" ");
  const content = bytes.subarray(end + 1);
  return found === magic && checksum === sha256(content) ? content : undefined;
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
