// Decides which files of the directory of image archives are read now.

import type { FileInfo } from "../../host/files.ts";
import type { ArchiveRecord } from "../../store/archive-records.ts";

/** Neither hidden files nor backups. */
export const ARCHIVE_NAME = /^[^.].*\.tar(?:\.gz|\.zst)?$/;

/** By name: differs when the file was written or replaced. */
export type ArchiveLooks = ReadonlyMap<string, string>;

export interface ArchiveScan {
  readonly seen: ArchiveLooks;
  readonly records: ReadonlyMap<string, ArchiveRecord>;
  /** What the scan before has seen of files that may still be written. */
  readonly settling: ArchiveLooks;
  /** Files that were certainly complete at some moment since the scan before. */
  readonly complete: ReadonlySet<string>;
  /** Nothing was seen before: what is there has settled. */
  readonly isFirst: boolean;
  readonly version: string;
}

export interface ArchivePlan {
  /** In the order of their names. */
  readonly read: readonly string[];
  readonly settling: ArchiveLooks;
  /** Records of files that are gone. */
  readonly gone: readonly string[];
}

/** Regular files that are named as image archives. */
export function archiveLooks(files: readonly FileInfo[]): ArchiveLooks {
  return new Map(
    files
      .filter(({ name, kind, size }) => kind === "file" && size > 0 && ARCHIVE_NAME.test(name))
      .map(({ name, identity, size, mtimeMs }) => [name, `${identity}:${size}:${mtimeMs}`]),
  );
}

export function planArchives(scan: ArchiveScan): ArchivePlan {
  const { seen, records, settling, complete, isFirst } = scan;
  const open = [...seen].filter(([name, look]) => !isDone(records.get(name), look, scan));
  const isReady = ([name, look]: readonly [string, string]): boolean =>
    isFirst || complete.has(name) || settling.get(name) === look;
  return {
    read: open
      .filter(isReady)
      .map(([name]) => name)
      .toSorted(),
    settling: new Map(open.filter((one) => !isReady(one))),
    gone: [...records.keys()].filter((name) => !seen.has(name)),
  };
}

/** A newer agent may accept what an older one has refused. */
function isDone(
  record: ArchiveRecord | undefined,
  look: string,
  { version }: Pick<ArchiveScan, "version">,
): boolean {
  if (record?.look !== look) return false;
  return record.refused === undefined || record.refused.version === version;
}
