// Decides about the rotated logs of one container instance: their names, their order, and what one rotation removes and
// compresses. kubelet: containerLogManager
//
// `<n>.log` is written to; `<n>.log.<yyyymmdd-hhmmss>` is rotated, with `.gz` compressed. The suffix looks like a time and
// is an order: each is at least a second above the newest that is there, so a clock that jumps back mixes up nothing.

import { compareText } from "../../lib/compare.ts";

/** One rotated log, whole or compressed. */
export interface RotatedLog {
  /** In the container's directory. */
  readonly name: string;
  /** `yyyymmdd-hhmmss`: sorts as the lines in the files do. */
  readonly suffix: string;
  readonly isCompressed: boolean;
}

interface NamedEntry {
  readonly name: string;
}

/** What is below a container's log directory. */
export interface LogDirectory {
  /** Oldest first. */
  readonly rotated: readonly RotatedLog[];
  /** Remains of a compression that did not end, and logs of which a complete compressed file exists. */
  readonly unfinished: readonly string[];
}

export interface RotationPlan {
  /** Names to remove, oldest first. */
  readonly remove: readonly string[];
  /** The name that the present log gets. */
  readonly rotateTo: string;
  /** Rotated logs that no one writes to any more, oldest first. */
  readonly compress: readonly string[];
}

export const COMPRESSED = ".gz";
export const UNFINISHED = ".tmp";
const ROTATED = /^(\d{1,9}\.log)\.(\d{8}-\d{6})(\.gz)?$/;
const SECOND_MS = 1000;
const FIRST_MS = 0;

/** The rotated logs of `log`, such as `3.log`; files of other names belong to others and stay. */
export function logDirectory(log: string, entries: readonly NamedEntry[]): LogDirectory {
  const names = new Set(entries.map(({ name }) => name));
  const own = [...names].filter((name) => name.startsWith(`${log}.`));
  const unfinished = own.filter(
    (name) =>
      (name.endsWith(UNFINISHED) && ROTATED.test(name.slice(0, -UNFINISHED.length))) ||
      (ROTATED.test(name) && names.has(name + COMPRESSED)),
  );
  const rotated = own.flatMap((name) => {
    const [, , suffix, compressed] = ROTATED.exec(name) ?? [];
    if (suffix === undefined || timeOf(suffix) === undefined) return [];
    if (names.has(name + COMPRESSED)) return [];
    return [{ name, suffix, isCompressed: compressed !== undefined }];
  });
  return { rotated: rotated.toSorted((a, b) => compareText(a.suffix, b.suffix)), unfinished };
}

/** `now`: wall-clock milliseconds, for the name only. */
export function planRotation(
  log: string,
  { rotated, unfinished }: LogDirectory,
  { maxFiles, now }: { readonly maxFiles: number; readonly now: number },
): RotationPlan {
  // One place for the present log and one for what it becomes now.
  const excess = rotated.slice(0, Math.max(0, rotated.length - (maxFiles - 2)));
  const left = rotated.slice(excess.length);
  return {
    remove: [...unfinished, ...excess.map(({ name }) => name)],
    rotateTo: `${log}.${nextSuffix(rotated.at(-1)?.suffix, now)}`,
    compress: left.filter(({ isCompressed }) => !isCompressed).map(({ name }) => name),
  };
}

/** Above `newest`, and the present time if that is above it. */
export function nextSuffix(newest: string | undefined, now: number): string {
  const after = newest === undefined ? FIRST_MS : (timeOf(newest) ?? FIRST_MS) + SECOND_MS;
  return suffixOf(Math.max(now, after, FIRST_MS));
}

function suffixOf(wallMs: number): string {
  const [date = "", time = ""] = new Date(wallMs).toISOString().slice(0, 19).split("T");
  return `${date.replaceAll("-", "")}-${time.replaceAll(":", "")}`;
}

function timeOf(suffix: string): number | undefined {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/.exec(suffix) ?? [];
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}
