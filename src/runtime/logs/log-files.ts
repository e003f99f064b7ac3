// Performs: reads a container's log across rotations.

import type { FileInfo, Files } from "../../host/files.ts";

type LogFiles = Pick<Files, "info" | "list" | "tail">;

/**
 * The last `maxBytes` bytes of a log; what the present file lacks comes from the one before it, which is not compressed yet.
 * undefined = there is no log.
 */
export function tailOfLog(files: LogFiles, path: string, maxBytes: number): Uint8Array | undefined {
  const present = files.info(path) === undefined ? undefined : files.tail(path, maxBytes);
  if (present !== undefined && present.length >= maxBytes) return present;
  const before = rotatedLogs(files, path).at(-1);
  if (before === undefined) return present;
  const older = files.tail(before.path, maxBytes - (present?.length ?? 0));
  return new Uint8Array(Buffer.concat([older, present ?? new Uint8Array()]));
}

interface RotatedFile extends FileInfo {
  readonly path: string;
}

/** Rotated logs of `path` that can be read as they are, oldest first. */
export function rotatedLogs(
  files: Pick<Files, "info" | "list">,
  path: string,
): readonly RotatedFile[] {
  const slash = path.lastIndexOf("/");
  const [directory, name] = [path.slice(0, slash), path.slice(slash + 1)];
  if (files.info(directory)?.kind !== "directory") return [];
  return files
    .list(directory)
    .filter((file) => file.kind === "file" && file.name.startsWith(`${name}.`))
    .filter((file) => !/\.(?:gz|tmp)$/.test(file.name))
    .map((file) => ({ ...file, path: `${directory}/${file.name}` }));
}
