// Performs: lists the directory of manifests, and reads the files that have settled.

import { decodeManifest } from "../../api/decode/decode-manifest.ts";
import { FILE_LIMITS } from "../../api/yaml/text-limits.ts";
import { grouped } from "../../lib/short-text.ts";
import { decodeText } from "../../api/yaml/yaml-documents.ts";
import type { Files } from "../../host/files.ts";
import type { FileKind } from "../../lib/files/plain-files.ts";
import { messageOf } from "../../lib/errors.ts";
import type { FieldError } from "../../lib/result.ts";
import { fileRejection } from "../rejections.ts";
import {
  isSameLook,
  unsettle,
  type Look,
  type ScanPlan,
  type Settling,
} from "./manifest-settle.ts";
import type { Clock } from "../../lib/clock.ts";
import { equalsLastGood } from "./manifest-last-good.ts";
import type { ManifestState } from "./manifest-state.ts";
import { MANIFEST_NAME, type ManifestFile, type Reading } from "./manifest-entry.ts";
import { fileHand } from "../../store/start-guard/hand.ts";
import { START_GUARD, UNGUARDED, type WorkGuard } from "../../store/start-guard/start-guard.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";

export interface Entry extends Look {
  readonly path: string;
  readonly kind: FileKind;
}

export interface ReadContext {
  readonly clock: Clock;
  readonly files: Files;
  readonly nodeName: string;
  /** Whether the node has servers for `dnsPolicy: ClusterFirst`; absent = no. */
  readonly clusterDNS?: boolean;
  readonly sha256: Sha256;
  /** Absent = no file waits. */
  readonly guard?: WorkGuard;
}

/** Everything that is named as a manifest, by path. Throws if the directory cannot be listed. */
export function listManifests(files: Files, directory: string): ReadonlyMap<string, Entry> {
  const entries = files
    .list(directory)
    .filter((info) => MANIFEST_NAME.test(info.name))
    .map(({ name, kind, size, mtimeMs, identity }): [string, Entry] => {
      const path = joinPath(directory, name);
      return [path, { path, kind, size, mtimeMs, identity }];
    });
  return new Map(entries);
}

/** Never throws: a file that cannot be read is refused with a reason. */
function readManifest(entry: Entry, context: ReadContext): Reading {
  const refusal = refusalOf(entry);
  if (refusal !== undefined) return refusal;
  let bytes: Uint8Array;
  try {
    bytes = context.files.read(entry.path, FILE_LIMITS.bytes);
  } catch (thrown) {
    return refuse(entry.path, { code: "Unreadable", message: messageOf(thrown) });
  }
  const text = decodeText(bytes);
  if (!text.ok) {
    const [error] = text.errors;
    return refuse(entry.path, error ?? { code: "Syntax", message: "is not text" });
  }
  const { guard = UNGUARDED } = context;
  const digest = context.sha256(bytes);
  const hand = fileHand(entry.path, digest);
  const waits = guard.waits(hand);
  if (waits !== undefined)
    return { ...refuse(entry.path, { code: START_GUARD, message: waits }), waits: hand };
  using held = guard.hold(hand);
  const manifest = decodeManifest(text.value, {
    source: "file",
    ref: entry.path,
    nodeName: context.nodeName,
    clusterDNS: context.clusterDNS ?? false,
    sha256: context.sha256,
  });
  held.settle();
  return { type: "Decoded", digest, manifest };
}

export function joinPath(directory: string, name: string): string {
  return directory.endsWith("/") ? `${directory}${name}` : `${directory}/${name}`;
}

const NOT_A_FILE: Readonly<Record<Exclude<FileKind, "file">, string>> = {
  directory: "is a directory; manifests lie directly in the manifest directory",
  symlink: "is a symbolic link; put a regular file here",
  other: "is not a regular file (a pipe, a socket or a device)",
};

function refusalOf({ path, kind, size }: Entry): Reading | undefined {
  if (kind !== "file") return refuse(path, { code: "NotAFile", message: NOT_A_FILE[kind] });
  if (size <= FILE_LIMITS.bytes) return undefined;
  const message = `has ${grouped(size)} bytes, at most ${grouped(FILE_LIMITS.bytes)}; split it into several files`;
  return refuse(path, { code: "TooLarge", message });
}

function refuse(
  path: string,
  why: Omit<FieldError, "path">,
): Extract<Reading, { type: "Refused" }> {
  // Only a regular file can have contained a pod.
  const mayHoldPods = why.code !== "NotAFile";
  return { type: "Refused", rejection: fileRejection(path, why), mayHoldPods };
}

interface ScanSeen {
  readonly seen: ReadonlyMap<string, Entry>;
  readonly plan: ScanPlan;
  /** Before the scan. */
  readonly state: ManifestState;
}

interface ReadFiles {
  readonly read: readonly ManifestFile[];
  /** As planned, but files that changed while they were read settle again. */
  readonly settling: Settling;
  /** There may be more files that equal their last good copies. */
  readonly isCut: boolean;
}

/** Reads the files that have settled, and those that equal their last good copies. */
export function readSettled(options: ReadContext, { seen, plan, state }: ScanSeen): ReadFiles {
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
  let isCut = false;
  for (const path of unread.keys()) {
    const entry = seen.get(path);
    if (!mayBeUnchanged(entry, state)) continue;
    isCut = plan.budget.isSpent;
    if (isCut) break;
    plan.budget.spend(entry);
    const file = readUnchanged(options, entry, state);
    if (file !== undefined) read.push(file);
  }
  const done = new Set(read.map((file) => file.path));
  const pending = new Map([...unread].filter(([path]) => !done.has(path)));
  const settling = unsettle({ ...plan.settling, pending }, torn, options.clock.monotonic());
  return { read, settling, isCut };
}

/** Not read since the start, and there is a last good copy. */
function mayBeUnchanged(entry: Entry | undefined, state: ManifestState): entry is Entry {
  return entry !== undefined && !state.files.has(entry.path) && state.outcomes.has(entry.path);
}

/** After a restart, a file that equals its last good copies need not settle. */
function readUnchanged(
  options: ReadContext,
  entry: Entry,
  state: ManifestState,
): ManifestFile | undefined {
  const lastGood = state.outcomes.get(entry.path)?.entries ?? [];
  const file = readFile(options, entry);
  const same = file?.reading.type === "Decoded" && equalsLastGood(file.reading.manifest, lastGood);
  return same ? file : undefined;
}

function readFile(options: ReadContext, entry: Entry | undefined): ManifestFile | undefined {
  if (entry === undefined) return undefined;
  const { path, size, mtimeMs, identity } = entry;
  return { path, look: { size, mtimeMs, identity }, reading: readManifest(entry, options) };
}
