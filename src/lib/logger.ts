// Performs: JSON lines for operators: constant message, facts as fields, identical errors rate-limited, and all lines too.

import { rfc3339, type Clock } from "./clock.ts";
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
  /** How many lines; absent = all. */
  readonly limit?: TokenBucketPolicy;
}

/** Of a whole agent: a start with all its pods fits; a flood is 17 MB a day, which journald can hold. */
export const JOURNAL_LIMIT: TokenBucketPolicy = { burst: 2000, perSecond: 1 };

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
    const head = { time: rfc3339(clock.now()), level, msg: message };
    options.write(`${JSON.stringify({ ...head, ...fields })}\n`);
  }

  function hasRoom(): boolean {
    if (limit === undefined) return true;
    const taken = takeToken(bucket, clock.monotonic(), limit);
    if (taken === undefined) {
      unlogged += 1;
      return false;
    }
    bucket = taken;
    if (unlogged > 0) write("warn", "too many log lines; some were left out", { lines: unlogged });
    unlogged = 0;
    return true;
  }

  function suppressed(level: LogLevel, message: string, fields: LogFields): number | undefined {
    if (RANK[level] < RANK.warn) return 0;
    const key = message + JSON.stringify(fields);
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
      if (hasRoom()) write(level, message, repeats > 0 ? { ...all, repeated: repeats } : all);
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
