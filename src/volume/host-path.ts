// What has to be true of a hostPath before a container may have it. kubelet: host_path checkType

import type { HostPathType } from "../api/v1/volumes.ts";
import type { FileInfo } from "../host/files.ts";

export type HostPathFound =
  "file" | "directory" | "symlink" | "other" | "socket" | "charDevice" | "blockDevice";

/** `Use` it as it is, create it first, or refuse it with a sentence. */
export type HostPathAction =
  | { readonly type: "Use" }
  | { readonly type: "CreateDirectory" }
  | { readonly type: "CreateFile" }
  | { readonly type: "Refuse"; readonly message: string };

/** `found`: what is there, symlinks followed where they lead anywhere; undefined = nothing. */
export function hostPathAction(
  path: string,
  type: HostPathType,
  found: HostPathFound | undefined,
): HostPathAction {
  if (type === "") return { type: "Use" };
  const { kind, word, create } = WANTED[type];
  if (found === kind) return { type: "Use" };
  if (found === undefined && create !== undefined) return { type: create };
  const is = found === undefined ? "there is nothing" : `it is ${WORDS[found]}`;
  const message = `hostPath type check failed: ${path} is not ${word}: ${is}`;
  return { type: "Refuse", message };
}

/** What a look at the path said, as one word. */
export function foundOf(info: FileInfo | undefined): HostPathFound | undefined {
  return info?.special ?? info?.kind;
}

interface WantedKind {
  readonly kind: HostPathFound;
  readonly word: string;
  readonly create?: "CreateDirectory" | "CreateFile";
}

const WORDS: Readonly<Record<HostPathFound, string>> = {
  file: "a file",
  directory: "a directory",
  symlink: "a symbolic link to nothing",
  socket: "a socket",
  charDevice: "a character device",
  blockDevice: "a block device",
  other: "something else, e.g. a FIFO",
};

const WANTED: Readonly<Record<Exclude<HostPathType, "">, WantedKind>> = {
  DirectoryOrCreate: { kind: "directory", word: "a directory", create: "CreateDirectory" },
  Directory: { kind: "directory", word: "a directory" },
  FileOrCreate: { kind: "file", word: "a file", create: "CreateFile" },
  File: { kind: "file", word: "a file" },
  Socket: { kind: "socket", word: "a socket" },
  CharDevice: { kind: "charDevice", word: "a character device" },
  BlockDevice: { kind: "blockDevice", word: "a block device" },
};
