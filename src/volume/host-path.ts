// Performs: hostPath volumes: checks the type, resolves links, and creates a missing file or directory where the type
// asks for it. kubelet: host_path checkType

import type { HostPathVolume, HostPathType } from "../api/v1/volumes.ts";
import type { FileInfo, Files } from "../host/files.ts";
import { AgentError } from "../lib/errors.ts";

export interface HostPathHost {
  readonly files: Files;
  /**
   * Why the pod may not use the path after links are resolved; undefined = it may. No function = paths are used as
   * written, without resolving links.
   */
  readonly hostPathError: ((written: string, resolved: string) => string | undefined) | undefined;
}

interface Place {
  /** Passed to the runtime. */
  readonly path: string;
  readonly action: HostPathAction;
}

const CREATED_DIRECTORY_MODE = 0o755;
const CREATED_FILE_MODE = 0o644;

/** Returns the path to mount. Throws AgentError `FailedMount`. */
export function setUpHostPath(host: HostPathHost, volume: HostPathVolume): string {
  const looked = placeOf(host, volume);
  if (looked.action === "Use") return looked.path;
  create(host, looked);
  // A process with write access may have created another entry, or a link, meanwhile.
  const { path, action } = placeOf(host, volume);
  if (action === "Use") return path;
  return refuse(`${JSON.stringify(path)} was created and has disappeared again`);
}

/** Throws what `setUpHostPath` would; creates nothing. */
export function checkHostPath(host: HostPathHost, volume: HostPathVolume): void {
  placeOf(host, volume);
}

/** Throws AgentError `FailedMount` when a checked path leads elsewhere now: its links must be checked again. */
export function checkStillThere({ files, hostPathError }: HostPathHost, path: string): void {
  if (hostPathError === undefined || realPlace(files, path) === path) return;
  const why = "has become a symbolic link, or is behind one, since it was checked";
  refuse(`${JSON.stringify(path)} ${why}; the next try checks it again`);
}

function create({ files, hostPathError }: HostPathHost, { path, action }: Place): void {
  // The checked path is used, not where its links lead now.
  const place = hostPathError === undefined ? realPlace(files, path) : path;
  if (place === undefined) return refuse(brokenLink(path));
  switch (action) {
    case "Use":
      return;
    case "CreateDirectory":
      return files.createDirectory(place, CREATED_DIRECTORY_MODE);
    case "CreateFile":
      return files.createFile(place, CREATED_FILE_MODE);
  }
}

function placeOf(host: HostPathHost, { hostPath }: HostPathVolume): Place {
  const { files } = host;
  const { type } = hostPath;
  const path = resolved(host, hostPath.path);
  // Without a type the path is not accessed: its file system may hang.
  // A broken link counts as an entry: creating the path would replace it.
  const info = type === "" ? undefined : (files.target(path) ?? files.info(path));
  return { path, action: hostPathAction(path, type, info?.special ?? info?.kind) };
}

/** The path with links resolved, if it is to be checked. */
function resolved({ files, hostPathError }: HostPathHost, written: string): string {
  if (hostPathError === undefined) return written;
  const real = realPlace(files, written);
  if (real === undefined) return refuse(brokenLink(written));
  const why = hostPathError(written, real);
  return why === undefined ? real : refuse(why);
}

function brokenLink(path: string): string {
  return `${JSON.stringify(path)} leads through a broken symbolic link; remove the link, or create its target`;
}

function refuse(message: string): never {
  throw new AgentError({ reason: "FailedMount", message });
}

export type HostPathFound = FileInfo["kind"] | NonNullable<FileInfo["special"]>;

type HostPathAction = "Use" | "CreateDirectory" | "CreateFile";

/**
 * `found`: the entry, with symlinks followed unless they are broken; undefined = none. Throws AgentError `FailedMount` for
 * an entry of another type.
 */
export function hostPathAction(
  path: string,
  type: HostPathType,
  found: HostPathFound | undefined,
): HostPathAction {
  if (type === "") return "Use";
  const { kind, create } = WANTED[type];
  if (found === kind) return "Use";
  if (found === undefined && create !== undefined) return create;
  const is = found === undefined ? "it does not exist" : `it is ${WORDS[found]}`;
  return refuse(`hostPath type check failed: ${path} is not ${WORDS[kind]}: ${is}`);
}

interface WantedKind {
  readonly kind: HostPathFound;
  readonly create?: HostPathAction;
}

const WORDS: Readonly<Record<HostPathFound, string>> = {
  file: "a file",
  directory: "a directory",
  symlink: "a broken symbolic link",
  socket: "a socket",
  charDevice: "a character device",
  blockDevice: "a block device",
  other: "something else, e.g. a FIFO",
};

const WANTED: Readonly<Record<Exclude<HostPathType, "">, WantedKind>> = {
  DirectoryOrCreate: { kind: "directory", create: "CreateDirectory" },
  Directory: { kind: "directory" },
  FileOrCreate: { kind: "file", create: "CreateFile" },
  File: { kind: "file" },
  Socket: { kind: "socket" },
  CharDevice: { kind: "charDevice" },
  BlockDevice: { kind: "blockDevice" },
};

/** The path with every link resolved; missing names are kept below the nearest existing directory. undefined = a broken link is on the way. */
export function realPlace(
  files: Pick<Files, "info" | "realPath">,
  path: string,
): string | undefined {
  const missing: string[] = [];
  const steps = path.split("/").filter((step) => step !== "" && step !== ".");
  for (; steps.length > 0; missing.unshift(steps.pop() ?? "")) {
    const part = `/${steps.join("/")}`;
    const real = files.realPath(part);
    if (real !== undefined) return below(real, missing);
    // A broken link could lead anywhere by the time of the mount.
    if (files.info(part) !== undefined) return undefined;
  }
  return below("/", missing);
}

/** `..` after a missing name is refused: that name could be a link later. */
function below(real: string, missing: readonly string[]): string | undefined {
  if (missing.includes("..")) return undefined;
  return [real === "/" ? "" : real, ...missing].join("/") || "/";
}
