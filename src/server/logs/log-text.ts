// Makes what a container wrote out of the lines of its log, byte by byte: a container may write anything. kubelet: ReadLogs

import type { LogOptions } from "./log-options.ts";

type Wanted = Pick<LogOptions, "withTimestamps" | "since" | "limitBytes" | "stream">;

const SPACE = 0x20;
const NEWLINE = 0x0a;
/** `2026-11-21T08:00:00.123456789Z stdout F ` and what precedes the text of a line. */
const ERR_LENGTH = "stderr".length;
const LAST_OF_STDERR = 0x72; // "stderr" ends in r, "stdout" in t.
const FULL = 0x46; // F

export class LogText {
  readonly #wanted: Wanted;
  /** Bytes that may still be written. */
  #left: number;
  /** A part of a line without its end was written last. */
  #isInLine = false;

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
    this.#left = wanted.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** `limitBytes` are written. */
  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** `lines`: whole lines as the runtime wrote them. */
  take(lines: Uint8Array): Uint8Array {
    const out: Uint8Array[] = [];
    for (let start = 0; start < lines.length && !this.isFull;) {
      const feed = lines.indexOf(NEWLINE, start);
      const end = feed < 0 ? lines.length : feed;
      this.#takeLine(lines.subarray(start, end), out);
      start = end + 1;
    }
    return joined(out);
  }

  #takeLine(line: Uint8Array, out: Uint8Array[]): void {
    const parts = partsOf(line);
    // What is no line of the runtime is shown as it is.
    if (parts === undefined) return this.#write([line, FEED], out);
    const { time, isError, isFull, text } = parts;
    const { stream, withTimestamps } = this.#wanted;
    if (stream !== undefined && (stream === "stderr") !== isError) return undefined;
    if (this.#isBefore(time)) return undefined;
    const stamp = withTimestamps && !this.#isInLine ? [time, BLANK] : [];
    this.#isInLine = !isFull;
    return this.#write([...stamp, text, ...(isFull ? [FEED] : [])], out);
  }

  /** Each line is judged by itself: a clock may have gone back. */
  #isBefore(time: Uint8Array): boolean {
    const { since } = this.#wanted;
    if (since === undefined) return false;
    const written = Date.parse(Buffer.from(time).toString("latin1"));
    return written < since;
  }

  #write(parts: readonly Uint8Array[], out: Uint8Array[]): void {
    for (const part of parts) {
      if (part.length === 0 || this.#left <= 0) continue;
      out.push(part.length > this.#left ? part.subarray(0, this.#left) : part);
      this.#left -= part.length;
    }
  }
}

const FEED = new Uint8Array([NEWLINE]);
const BLANK = new Uint8Array([SPACE]);

interface LineParts {
  readonly time: Uint8Array;
  readonly isError: boolean;
  /** false: the next line goes on with it. */
  readonly isFull: boolean;
  readonly text: Uint8Array;
}

/** undefined = no line of the runtime. */
function partsOf(line: Uint8Array): LineParts | undefined {
  const first = line.indexOf(SPACE);
  if (first < 0) return undefined;
  const second = first + 1 + ERR_LENGTH;
  if (line[second] !== SPACE) return undefined;
  const third = line.indexOf(SPACE, second + 1);
  const tagEnd = third < 0 ? line.length : third;
  if (tagEnd === second + 1) return undefined;
  return {
    time: line.subarray(0, first),
    isError: line[second - 1] === LAST_OF_STDERR,
    isFull: line[second + 1] === FULL,
    text: line.subarray(tagEnd + 1),
  };
}

/** Whether a line of the log ends a line of the container. */
export function endsLine(line: Uint8Array): boolean {
  return partsOf(line)?.isFull ?? true;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
