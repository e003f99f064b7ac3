// When a manifest file may be read: half-written YAML is often a valid, smaller pod.

import { earliest, type Monotonic } from "../../lib/clock.ts";

/** What is known of a file without reading it. */
export interface Look {
  readonly size: number;
  readonly mtimeMs: number;
  readonly identity: string;
}

interface Pending {
  readonly look: Look;
  readonly since: Monotonic;
  /** How long it must stay unchanged, ms. */
  readonly quiet: number;
}

/** Kept from one scan to the next. */
export interface Settling {
  /** Files that may still be being written. */
  readonly pending: ReadonlyMap<string, Pending>;
  /** Files missing in the last scan, and since when that set has not grown. */
  readonly vanished: { readonly paths: ReadonlySet<string>; readonly since: Monotonic };
}

/** What has just happened to a file. `Whole`: it was renamed into place and not changed since; `MaybeWhole`: its name has
 * appeared or disappeared in an unknown way; `Written`: it was written to. */
export type Arrival = "Whole" | "MaybeWhole" | "Written";

export interface ScanFacts {
  readonly now: Monotonic;
  /** Every file of this scan. */
  readonly seen: ReadonlyMap<string, Look>;
  /** How each file looked when it was last read. */
  readonly read: ReadonlyMap<string, Look>;
  /** Files that were read before or have a last good copy. */
  readonly expected: ReadonlySet<string>;
  /** By path, since the last scan. */
  readonly arrivals: ReadonlyMap<string, Arrival>;
}

export interface ScanPlan {
  /** The first by path; others that may be read are due at once, and stay in `settling`. */
  readonly read: readonly string[];
  /** What is left after them. */
  readonly budget: ReadBudget;
  /** Deleted: their pods stop. */
  readonly gone: readonly string[];
  readonly settling: Settling;
}

/** A file written in place must stay unchanged for this long, ms. */
export const SETTLE_MS = 250;
/** The wait doubles each time a file is seen to change, up to this, ms. */
const MAX_SETTLE_MS = 2000;
/**
 * Without inotify, a new name may be a file renamed into place (complete) or one being created (incomplete). If it was
 * written to and is not empty at the first look, the event of that write arrives within this time, ms.
 */
const MAYBE_WHOLE_MS = 5;
/** A file must be missing for this long, ms: `rm -r` of the directory deletes no pod, and editors rename while saving. */
const VANISH_MS = 100;

/** Read between two looks at the directory: the first pods start while the rest of a burst is read. */
const READ_AT_ONCE = { files: 64, bytes: 1024 * 1024 };

/** How much may still be read before the next look; a single file may be larger. */
export class ReadBudget {
  #files = READ_AT_ONCE.files;
  #bytes = READ_AT_ONCE.bytes;

  get isSpent(): boolean {
    return this.#files <= 0 || this.#bytes <= 0;
  }

  spend({ size }: Pick<Look, "size">): void {
    this.#files -= 1;
    this.#bytes -= size;
  }
}

export const NOTHING_SETTLING: Settling = {
  pending: new Map(),
  vanished: { paths: new Set(), since: 0 },
};

export function planScan(previous: Settling, facts: ScanFacts): ScanPlan {
  const read: string[] = [];
  const pending = new Map<string, Pending>();
  const budget = new ReadBudget();
  for (const [path, look] of facts.seen) {
    const before = facts.read.get(path);
    if (before !== undefined && isSameLook(before, look)) continue;
    const next = settle(previous.pending.get(path), { path, look }, facts);
    const isDue = facts.now - next.since >= next.quiet;
    if (!isDue || budget.isSpent) pending.set(path, next);
    else {
      read.push(path);
      budget.spend(look);
    }
  }
  const { gone, vanished } = confirmVanished(previous.vanished, facts);
  return { read, budget, gone, settling: { pending, vanished } };
}

/** When to look again even without an event. */
export function lookAgainAt({ pending, vanished }: Settling): Monotonic | undefined {
  const times = [...pending.values()].map((entry) => entry.since + entry.quiet);
  if (vanished.paths.size > 0) times.push(vanished.since + VANISH_MS);
  return earliest(times);
}

/** A file that changed while it was read starts to settle again. */
export function unsettle(
  settling: Settling,
  paths: ReadonlyMap<string, Look>,
  now: Monotonic,
): Settling {
  const fresh = [...paths].map(([path, look]): [string, Pending] => [
    path,
    { look, since: now, quiet: SETTLE_MS },
  ]);
  return { ...settling, pending: new Map([...settling.pending, ...fresh]) };
}

export function isSameLook(a: Look, b: Look): boolean {
  return a.size === b.size && a.mtimeMs === b.mtimeMs && a.identity === b.identity;
}

function settle(
  before: Pending | undefined,
  file: { readonly path: string; readonly look: Look },
  facts: ScanFacts,
): Pending {
  const { path, look } = file;
  const arrival = facts.arrivals.get(path);
  const rest = (quiet: number): Pending => ({ look, since: facts.now, quiet });
  // An empty file is incomplete: its content is still to be written.
  if (look.size > 0 && arrival === "Whole") return rest(0);
  if (look.size > 0 && arrival === "MaybeWhole") return rest(MAYBE_WHOLE_MS);
  if (before === undefined) return rest(SETTLE_MS);
  if (isSameLook(before.look, look)) {
    // The last look may have been taken after this write.
    return arrival === "Written" ? rest(Math.max(before.quiet, SETTLE_MS)) : before;
  }
  // The first bytes of a new file do not indicate a slow writer.
  return rest(before.look.size === 0 ? SETTLE_MS : longer(before.quiet));
}

function longer(quiet: number): number {
  return Math.min(Math.max(quiet * 2, SETTLE_MS), MAX_SETTLE_MS);
}

function confirmVanished(
  before: Settling["vanished"],
  facts: ScanFacts,
): { readonly gone: readonly string[]; readonly vanished: Settling["vanished"] } {
  const missing = [...facts.expected].filter((path) => !facts.seen.has(path));
  const more = missing.some((path) => !before.paths.has(path));
  const vanished = { paths: new Set(missing), since: more ? facts.now : before.since };
  if (missing.length === 0 || facts.now - vanished.since < VANISH_MS) return { gone: [], vanished };
  return { gone: missing, vanished: NOTHING_SETTLING.vanished };
}
