// Text that is published: bounded in bytes, safe on a terminal; payloads as bytes.

import type { SourceName } from "../api/pod/desired-pod.ts";
import { byteLength } from "../lib/short-text.ts";

/** Most bytes of one text. */
const MAX_TEXT_BYTES = 256;
/** Most bytes of a retained payload: the limit of the strictest broker. */
export const MAX_PAYLOAD_BYTES = 48 * 1024;

/** Control characters, line separators, and characters that change the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]+/gu;
const ELLIPSIS = "…";

/** `text` without control characters (a run of them becomes a blank), at most 256 bytes of UTF-8. */
export function wireText(text: string): string {
  // The start is enough: a pod may write megabytes.
  const clean = text
    .slice(0, 4 * MAX_TEXT_BYTES)
    .replaceAll(UNPRINTABLE, " ")
    .trim()
    .toWellFormed();
  if (byteLength(clean) <= MAX_TEXT_BYTES) return clean;
  const room = new Uint8Array(MAX_TEXT_BYTES - byteLength(ELLIPSIS));
  const { read } = new TextEncoder().encodeInto(clean, room);
  return clean.slice(0, read) + ELLIPSIS;
}

/** JSON as bytes. */
export function jsonBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** How reports and `requires.documents` call a source: `static`, `http`, `node`, `group/<g>`. */
export function reportedSource(source: SourceName): string {
  if (source === "file") return "static";
  return source.startsWith("mqtt:") ? source.slice("mqtt:".length) : source;
}
