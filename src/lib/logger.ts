// Performs: JSON lines for operators: constant message, facts as fields, identical errors rate-limited.

import { rfc3339, type Clock } from "./clock.ts";

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
}

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
const REPEAT_MS = 60_000;
const REMEMBERED = 200;

/** Identical warnings and errors within a minute are counted, not written. */
export function createLogger(options: LoggerOptions): Logger {
  const seen = new Map<string, { until: number; suppressed: number }>();

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
      const head = { time: rfc3339(options.clock.now()), level, msg: message };
      const line = repeats > 0 ? { ...head, ...all, repeated: repeats } : { ...head, ...all };
      options.write(`${JSON.stringify(line)}\n`);
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
