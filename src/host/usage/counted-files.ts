// Performs: counts what is written through `Files`, by kind, and what the kernel has counted for the whole process.

import { readFileSync } from "node:fs";
import type { Data } from "../../lib/files/system-durable-file.ts";
import type { CountWritten, WriteClass } from "../../lib/files/write-classes.ts";
import type { Files } from "../files.ts";

interface Places {
  readonly stateDir: string;
  readonly podLogsDir: string;
}

/** Volumes on a tmpfs are not counted. */
export function countedFiles(files: Files, places: Places, count: CountWritten): Files {
  const counted =
    (method: "writeAtomic" | "writeLazily" | "writeInPlace") =>
    (path: string, data: Data, mode: number): void => {
      files[method](path, data, mode);
      const kind = classOf(path, places);
      if (kind !== undefined) count(kind, Buffer.byteLength(data));
    };
  return {
    ...files,
    writeAtomic: counted("writeAtomic"),
    writeLazily: counted("writeLazily"),
    writeInPlace: counted("writeInPlace"),
  };
}

function classOf(path: string, { stateDir, podLogsDir }: Places): WriteClass | undefined {
  if (path.startsWith(`${podLogsDir}/`)) return "container_logs";
  if (!path.startsWith(`${stateDir}/`)) return "manifests";
  const below = path.slice(stateDir.length + 1);
  if (below.startsWith("desired/")) return "documents";
  return /^pods\/[^/]+\/volumes\//.test(below) ? undefined : "state";
}

/**
 * Bytes that this process has caused to be sent to the disk, as the kernel counts them: by pages, without a tmpfs, and without
 * what was overwritten before it was sent. undefined = the kernel does not count. proc(5): write_bytes
 */
export function storageWritten(): number | undefined {
  try {
    const text = readFileSync("/proc/self/io", "latin1");
    const of = (name: string): number =>
      Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(text)?.[1] ?? Number.NaN);
    const bytes = of("write_bytes") - of("cancelled_write_bytes");
    return Number.isNaN(bytes) ? undefined : Math.max(0, bytes);
  } catch {
    return undefined;
  }
}
