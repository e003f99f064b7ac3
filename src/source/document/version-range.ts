// Whether the agent's version satisfies `requires.agent` of a document: the comparators of semantic versioning.

type Release = readonly [major: number, minor: number, patch: number];

interface Version {
  readonly release: Release;
  /** `1.2.0-rc.1` is lower than `1.2.0`. */
  readonly prerelease: string;
}

/** From `low` (included) up to `high` (excluded); a missing end is open. */
interface Interval {
  readonly low?: Release;
  readonly high?: Release;
}

const VERSION =
  /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;
const COMPARATOR = /^(>=|<=|>|<|=|\^|~)?v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?$/;

/** `||` joins alternatives, blanks join conditions; undefined = the range (or the version) cannot be read.
 * A prerelease counts as earlier than its release, so `>=1.2` refuses `1.2.0-rc.1`. */
export function satisfiesRange(version: string, range: string): boolean | undefined {
  const actual = parseVersion(version);
  const alternatives = range.split("||").map((alternative) => parseAlternative(alternative));
  if (actual === undefined) return undefined;
  let satisfied = false;
  for (const intervals of alternatives) {
    if (intervals === undefined) return undefined;
    satisfied ||= intervals.every((interval) => isInside(actual, interval));
  }
  return satisfied;
}

function parseVersion(text: string): Version | undefined {
  const match = VERSION.exec(text);
  if (match === null) return undefined;
  const [, major, minor = "0", patch = "0", prerelease = ""] = match;
  return { release: [Number(major), Number(minor), Number(patch)], prerelease };
}

function parseAlternative(text: string): readonly Interval[] | undefined {
  const words = text
    .trim()
    .replaceAll(/(>=|<=|>|<|=|\^|~)\s+/g, "$1")
    .split(/\s+/);
  if (words.length === 1 && words[0] === "*") return [{}];
  const intervals = words.map((word) => parseComparator(word));
  const known = intervals.filter((interval) => interval !== undefined);
  return known.length === intervals.length ? known : undefined;
}

function parseComparator(word: string): Interval | undefined {
  const match = COMPARATOR.exec(word);
  if (match === null) return undefined;
  const [, operator = "=", ...parts] = match;
  const written = parts.filter((part) => part !== undefined).map(Number);
  const [major = 0, minor = 0, patch = 0] = written;
  const low: Release = [major, minor, patch];
  const after = bump(low, written.length - 1);
  switch (operator) {
    case ">=":
      return { low };
    case ">":
      return { low: after };
    case "<":
      return { high: low };
    case "<=":
      return { high: after };
    case "^":
      return { low, high: bump(low, caretPlace(low, written.length)) };
    case "~":
      return { low, high: bump(low, Math.min(1, written.length - 1)) };
    default:
      return { low, high: after };
  }
}

/** `^` keeps the leftmost part that is not zero: ^0.2.3 stays below 0.3.0. */
function caretPlace([major, minor]: Release, written: number): number {
  if (major > 0 || written === 1) return 0;
  return minor > 0 || written === 2 ? 1 : 2;
}

function bump([major, minor, patch]: Release, place: number): Release {
  if (place === 0) return [major + 1, 0, 0];
  if (place === 1) return [major, minor + 1, 0];
  return [major, minor, patch + 1];
}

function isInside(version: Version, { low, high }: Interval): boolean {
  if (low !== undefined && compareVersion(version, low) < 0) return false;
  return high === undefined || compareVersion(version, high) < 0;
}

function compareVersion(version: Version, release: Release): number {
  for (const [index, part] of version.release.entries()) {
    const difference = part - (release[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return version.prerelease === "" ? 0 : -1;
}
