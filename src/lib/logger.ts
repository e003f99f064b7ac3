// Performs: JSON lines for operators: constant message, facts as fields. Identical errors are rate-limited, and all lines in
// number and length: a message may hold what a stranger has written.

import { rfc3339, type Clock } from "./clock.ts";
import { shortText } from "./short-text.ts";
import { takeToken, type TokenBucket, type TokenBucketPolicy } from "./token-bucket.ts";

type LogLevel = "debug" | "info" | "warn" | "error";

/** Facts of a line. Never env values, tokens or secret payloads. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to every line. */
  with(fields: LogFields): Logger;
}

interface LoggerOptions {
  readonly clock: Clock;
  readonly level: LogLevel;
  /** Receives whole lines, each ending in a newline. */
  readonly write: (line: string) => void;
  /** How many lines, each for every KiB of it; absent = all. */
  readonly limit?: TokenBucketPolicy;
}

/** Of a whole agent: a start with all its pods fits; a flood is 90 MB a day at most, which journald can hold. */
export const JOURNAL_LIMIT: TokenBucketPolicy = { burst: 2000, perSecond: 1 };

/** Of one text in a line, and of a whole line, in UTF-16 units. */
const LONGEST_TEXT = 2048;
export const LONGEST_LINE = 8192;
const UNITS_PER_TOKEN = 1024;
/** Part of the burst that is left to errors. */
const ERRORS_SHARE = 0.1;

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
const REPEAT_MS = 60_000;
const REMEMBERED = 200;

/** Identical warnings and errors within a minute are counted, not written. */
export function createLogger(options: LoggerOptions): Logger {
  const seen = new Map<string, { until: number; suppressed: number }>();
  const { clock, limit } = options;
  let bucket: TokenBucket | undefined;
  /** Lines left out since the last one. */
  let unlogged = 0;

  function write(level: LogLevel, message: string, fields: LogFields): void {
    const line = lineOf({ time: rfc3339(clock.now()), level, msg: message }, fields);
    if (!hasRoom(level, line.length)) return;
    if (unlogged > 0) {
      const lines = unlogged;
      unlogged = 0;
      const head = { time: rfc3339(clock.now()), level: "warn", msg: LEFT_OUT };
      options.write(`${lineOf(head, { lines })}\n`);
    }
    options.write(`${line}\n`);
  }

  function hasRoom(level: LogLevel, length: number): boolean {
    if (limit === undefined) return true;
    const spare = level === "error" ? 0 : Math.floor(limit.burst * ERRORS_SHARE);
    const cost = Math.ceil(length / UNITS_PER_TOKEN);
    const taken = takeToken(bucket, clock.monotonic(), { ...limit, spare, cost });
    if (taken === undefined) unlogged += 1;
    else bucket = taken;
    return taken !== undefined;
  }

  function suppressed(level: LogLevel, message: string, fields: LogFields): number | undefined {
    if (RANK[level] < RANK.warn) return 0;
    const key = lineOf({ msg: message }, fields);
    const at = options.clock.monotonic();
    const last = seen.get(key);
    if (last !== undefined && at < last.until) {
      last.suppressed += 1;
      return undefined;
    }
    if (seen.size >= REMEMBERED) seen.clear();
    seen.set(key, { until: at + REPEAT_MS, suppressed: 0 });
    return last?.suppressed ?? 0;
  }

  function make(bound: LogFields): Logger {
    const log = (level: LogLevel, message: string, fields: LogFields = {}): void => {
      if (RANK[level] < RANK[options.level]) return;
      const all = { ...bound, ...fields };
      const repeats = suppressed(level, message, all);
      if (repeats === undefined) return;
      write(level, message, repeats > 0 ? { ...all, repeated: repeats } : all);
    };
    return {
      debug: (message, fields) => log("debug", message, fields),
      info: (message, fields) => log("info", message, fields),
      warn: (message, fields) => log("warn", message, fields),
      error: (message, fields) => log("error", message, fields),
      with: (fields) => make({ ...bound, ...fields }),
    };
  }
  return make({});
}

const LEFT_OUT = "too many log lines; some were left out";

/** At most LONGEST_LINE: first each text is cut, then the facts are one text that is cut. */
function lineOf(head: LogFields, fields: LogFields): string {
  const whole = JSON.stringify({ ...head, ...fields }, short);
  if (whole.length <= LONGEST_LINE) return whole;
  return JSON.stringify(
    { ...head, cut: shortText(JSON.stringify(fields, short), LONGEST_TEXT) },
    short,
  );
}

function short(_: string, value: unknown): unknown {
  return typeof value === "string" ? shortText(value, LONGEST_TEXT) : value;
}
