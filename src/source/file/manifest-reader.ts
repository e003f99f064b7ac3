// Performs: reads the manifest files that have settled, and checks that they did not change meanwhile.

import type { Clock } from "../../lib/clock.ts";
import { readManifest, type Entry, type ReadContext } from "./manifest-files.ts";
import { equalsLastGood } from "./manifest-last-good.ts";
import {
  isSameLook,
  unsettle,
  type Look,
  type ScanPlan,
  type Settling,
} from "./manifest-settle.ts";
import type { ManifestState } from "./manifest-state.ts";
import type { ManifestFile } from "./manifest-entry.ts";

export interface ReaderOptions extends ReadContext {
  readonly clock: Clock;
}

export interface ScanSeen {
  readonly seen: ReadonlyMap<string, Entry>;
  readonly plan: ScanPlan;
  /** Before the scan. */
  readonly state: ManifestState;
}

export interface ReadFiles {
  readonly read: readonly ManifestFile[];
  /** As planned, but files that changed while they were read settle again. */
  readonly settling: Settling;
}

/** Reads the files that have settled, and those that equal their last good copies. */
export function readSettled(options: ReaderOptions, { seen, plan, state }: ScanSeen): ReadFiles {
  const read: ManifestFile[] = [];
  const torn = new Map<string, Look>();
  for (const path of plan.read) {
    const file = readFile(options, seen.get(path));
    if (file === undefined) continue;
    const now = options.files.info(path);
    if (now !== undefined && isSameLook(now, file.look)) read.push(file);
    else torn.set(path, now ?? file.look);
  }
  const unread = plan.settling.pending;
  for (const path of unread.keys()) {
    const file = readUnchanged(options, seen.get(path), state);
    if (file !== undefined) read.push(file);
  }
  const done = new Set(read.map((file) => file.path));
  const pending = new Map([...unread].filter(([path]) => !done.has(path)));
  const settling = unsettle({ ...plan.settling, pending }, torn, options.clock.monotonic());
  return { read, settling };
}

/** After a restart, a file that equals its last good copies need not settle. */
function readUnchanged(
  options: ReaderOptions,
  entry: Entry | undefined,
  state: ManifestState,
): ManifestFile | undefined {
  if (entry === undefined || state.files.has(entry.path)) return undefined;
  const lastGood = state.outcomes.get(entry.path)?.entries;
  if (lastGood === undefined) return undefined;
  const file = readFile(options, entry);
  const same = file?.reading.type === "Decoded" && equalsLastGood(file.reading.manifest, lastGood);
  return same ? file : undefined;
}

function readFile(options: ReaderOptions, entry: Entry | undefined): ManifestFile | undefined {
  if (entry === undefined) return undefined;
  const { path, size, mtimeMs, identity } = entry;
  return { path, look: { size, mtimeMs, identity }, reading: readManifest(entry, options) };
}
