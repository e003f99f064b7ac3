// Durations as Kubernetes writes them (Go's `1m30s`), and ages as kubectl prints them.

/** Milliseconds of each unit that a duration may name. */
const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/y;

/** `1m30s`, `300s`, `1.5h`, `0` as milliseconds; undefined for anything else, also for negative ones. */
export function parseDuration(text: string): number | undefined {
  if (text === "0") return 0;
  let ms = 0;
  let position = 0;
  while (position < text.length) {
    PART.lastIndex = position;
    const part = PART.exec(text);
    const unit = UNIT_MS[part?.[2] ?? ""];
    if (part === null || unit === undefined) return undefined;
    ms += Number(part[1]) * unit;
    position = PART.lastIndex;
  }
  return text === "" ? undefined : ms;
}

/** Milliseconds as the shortest such text: `5m`, `1m30s`, `250ms`; the inverse of `parseDuration` for whole ms ≥ 0. */
export function formatDuration(ms: number): string {
  if (ms === 0) return "0s";
  let rest = ms;
  let text = "";
  for (const unit of ["h", "m", "s", "ms"]) {
    const size = UNIT_MS[unit] ?? 1;
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** An age of `ms` in at most two units, coarser as it grows. kubectl: duration.HumanDuration */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return twoUnits(seconds, [MINUTE, "m"], [1, "s"]);
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return twoUnits(seconds, [HOUR, "h"], [MINUTE, "m"]);
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return twoUnits(seconds, [DAY, "d"], [HOUR, "h"]);
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`;
  if (seconds < 8 * YEAR) return twoUnits(seconds, [YEAR, "y"], [DAY, "d"]);
  return `${Math.floor(seconds / YEAR)}y`;
}

type Unit = readonly [size: number, name: string];

function twoUnits(seconds: number, large: Unit, small: Unit): string {
  const rest = Math.floor((seconds % large[0]) / small[0]);
  const head = `${Math.floor(seconds / large[0])}${large[1]}`;
  return rest === 0 ? head : `${head}${rest}${small[1]}`;
}
