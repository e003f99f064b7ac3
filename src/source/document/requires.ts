// Whether this node meets what a document requires, `requires.agent`, `.arch`, `.features` and `.documents`; 412 if
// not. `requires.agent` is a range of versions: the comparators of semantic versioning.

import type { Requires } from "../../protocol/desired-state.ts";
import type { RemoteSettings } from "../../protocol/remote-settings.ts";
import type { FieldError } from "../../lib/result.ts";

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

/** What a document may require of the node. */
export interface NodeFacts {
  /** Semantic version. */
  readonly agentVersion: string;
  /** `arm64`, `amd64` …; Node's and uname's spellings are understood too. */
  readonly arch: string;
  readonly features: ReadonlySet<string>;
  /** Whether it has servers for `dnsPolicy: ClusterFirst`; absent = no. */
  readonly clusterDNS?: boolean;
  /** What of settings does not fit this node: a sentence; undefined = they fit. Absent = it tries none. */
  readonly settingsError?: (settings: RemoteSettings) => string | undefined;
}

const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: "amd64",
  x86_64: "amd64",
  aarch64: "arm64",
  arm64: "arm64",
  amd64: "amd64",
};

/** Every demand that is not met, as sentences with paths; `accepted` holds the generation of every document
 * the node would run beside, this one included. */
export function unmetRequirements(
  requires: Requires,
  facts: NodeFacts,
  accepted: Readonly<Record<string, number>>,
): readonly FieldError[] {
  const unmet: FieldError[] = [];
  const miss = (path: string, message: string): void => {
    unmet.push({ path: `requires.${path}`, code: "Unmet", message });
  };
  if (requires.agent !== undefined) {
    const satisfied = satisfiesRange(facts.agentVersion, requires.agent);
    const range = JSON.stringify(requires.agent);
    if (satisfied === undefined) miss("agent", `${range} is not a range like ">=1.2"`);
    if (satisfied === false)
      miss("agent", `${range} is asked for, this agent is ${facts.agentVersion}; update it`);
  }
  const arch = canonicalArch(facts.arch);
  if (requires.arch.length > 0 && !requires.arch.map(canonicalArch).includes(arch))
    miss("arch", `${requires.arch.join(" or ")} is asked for, this node is ${arch}`);
  for (const [index, feature] of requires.features.entries()) {
    if (facts.features.has(feature)) continue;
    miss(`features[${index}]`, `this node does not have the feature ${JSON.stringify(feature)}`);
  }
  for (const [name, least] of Object.entries(requires.documents)) {
    const present = Object.hasOwn(accepted, name) ? accepted[name] : undefined;
    if (present !== undefined && present >= least) continue;
    const have = present === undefined ? "has none" : `has generation ${present}`;
    miss(`documents.${name}`, `generation ${least} is asked for, this node ${have}`);
  }
  return unmet;
}

function canonicalArch(arch: string): string {
  return (Object.hasOwn(ARCHITECTURES, arch) ? ARCHITECTURES[arch] : undefined) ?? arch;
}
