// Performs: one lease on a container's log: new lines are published for a bounded time and number of bytes, and never
// stored.

import { parseLogLine, type LogBatch, type LogLine } from "../protocol/log-batch.ts";
import type { Clock } from "../lib/clock.ts";
import { shortText, byteLength } from "../lib/short-text.ts";
import { jsonBytes } from "../protocol/wire-text.ts";

/** New lines as the runtime writes them. */
export interface NewLines {
  readonly lines: readonly string[];
  /** Number of lines left out before them. */
  readonly dropped: number;
}

export interface LogLeaseOptions {
  readonly clock: Clock;
  /** Id of the command. */
  readonly id: string;
  readonly seconds: number;
  /** Most bytes of payload in total. */
  readonly bytes: number;
  /** Lines written since the last call; undefined = the container is gone. */
  readonly read: () => NewLines | undefined;
  /** The same lines without values of Secrets; it costs time for each line. */
  readonly redacted: (lines: readonly string[]) => readonly string[];
  /** Never throws; what cannot be sent is lost. */
  readonly publish: (payload: Uint8Array) => void;
  /** Its reason is the `why` of the end. */
  readonly signal: AbortSignal;
}

export interface LeaseEnd {
  /** `Expired`, `Bytes`, `Gone`, or the reason of the signal. */
  readonly why: string;
  readonly lines: number;
  readonly bytes: number;
  readonly dropped: number;
}

export const MAX_LEASE_SECONDS = 600;
export const MAX_LEASE_BYTES = 1024 * 1024;
export const METERED_LEASE_BYTES = 64 * 1024;
const TICK_MS = 1_000;
/** Most bytes of one payload; one payload is published each tick. */
export const MAX_BATCH_BYTES = 16_000;
const READ_CHARACTERS = 4 * MAX_BATCH_BYTES;
/** Characters of one line. */
const MAX_LINE = 4_096;
/** Bytes of a batch beside its lines. */
const ENVELOPE_BYTES = 128;

/** Resolves when the lease is over; never rejects. */
export async function runLogLease(options: LogLeaseOptions): Promise<LeaseEnd> {
  const { clock, id, seconds, bytes: allowed, read, redacted, publish, signal } = options;
  const until = clock.monotonic() + seconds * 1_000;
  const sum = { lines: 0, bytes: 0, dropped: 0 };
  let owed = 0;
  for (let seq = 0; ;) {
    if (signal.aborted) return { ...sum, why: String(signal.reason) };
    const written = read();
    if (written === undefined) return { ...sum, why: "Gone" };
    const first = firstOf(written.lines);
    const room = Math.min(MAX_BATCH_BYTES, allowed - sum.bytes);
    const batch = batchOf(redacted(first), room, written.lines.length);
    owed += written.dropped;
    sum.dropped += written.dropped + batch.dropped;
    if (batch.lines.length > 0) {
      const payload = jsonBytes(message(id, seq, batch.lines, owed));
      publish(payload);
      seq += 1;
      owed = 0;
      sum.lines += batch.lines.length;
      sum.bytes += payload.length;
    }
    owed += batch.dropped;
    if (
      allowed - sum.bytes <= ENVELOPE_BYTES ||
      (batch.dropped > 0 && allowed - sum.bytes < MAX_LINE)
    )
      return { ...sum, why: "Bytes" };
    const left = until - clock.monotonic();
    if (left <= 0) return { ...sum, why: "Expired" };
    await clock.sleep(Math.min(TICK_MS, left), signal);
  }
}

function message(id: string, seq: number, lines: readonly LogLine[], dropped: number): LogBatch {
  return dropped === 0 ? { id, seq, lines } : { id, seq, lines, dropped };
}

/** What a batch can show of the lines that a container writes in a second, also where long Secrets in them become short. */
function firstOf(written: readonly string[]): readonly string[] {
  let characters = 0;
  const end = written.findIndex((line) => (characters += line.length) > READ_CHARACTERS);
  return end < 0 ? written : written.slice(0, end + 1);
}

/** As many lines as there is room for, the oldest first; the rest of `all` is dropped. */
function batchOf(
  written: readonly string[],
  room: number,
  all: number,
): { readonly lines: readonly LogLine[]; readonly dropped: number } {
  const lines: LogLine[] = [];
  let bytes = ENVELOPE_BYTES;
  for (const [index, one] of written.entries()) {
    const line = logLine(one);
    bytes += byteLength(JSON.stringify(line)) + 1;
    if (bytes > room) return { lines, dropped: all - index };
    lines.push(line);
  }
  return { lines, dropped: all - lines.length };
}

/** Text that is not a log line of the runtime is published as it is. */
export function logLine(written: string): LogLine {
  const line = parseLogLine(written) ?? { time: "", stream: "stdout", text: written };
  return { ...line, text: shortText(line.text.toWellFormed(), MAX_LINE) };
}

export const MAX_LEASES = 8;
