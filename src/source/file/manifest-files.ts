// Performs: lists the directory of manifests, and reads one file of it.

import { decodeManifest } from "../../api/decode/decode-manifest.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import { FILE_LIMITS } from "../../api/yaml/text-limits.ts";
import { decodeText } from "../../api/yaml/yaml-documents.ts";
import type { FileInfo, Files } from "../../host/files.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Look } from "./manifest-settle.ts";
import type { Reading } from "./manifest-entry.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";

export interface Entry extends Look {
  readonly path: string;
  readonly kind: FileInfo["kind"];
}

export interface ReadContext {
  readonly files: Files;
  readonly nodeName: string;
  /** Whether the node has servers for `dnsPolicy: ClusterFirst`; absent = no. */
  readonly clusterDNS?: boolean;
  readonly sha256: Sha256;
}

const MANIFEST_NAME = /^[^.].*\.(yaml|yml|json)$/;

/** False for hidden files and backups such as `web.yaml.bak` or `web.yaml~`. */
function isManifestName(name: string): boolean {
  return MANIFEST_NAME.test(name);
}

/** Everything that is named as a manifest, by path. Throws if the directory cannot be listed. */
export function listManifests(files: Files, directory: string): ReadonlyMap<string, Entry> {
  const entries = files
    .list(directory)
    .filter((info) => isManifestName(info.name))
    .map(({ name, kind, size, mtimeMs, identity }): [string, Entry] => {
      const path = joinPath(directory, name);
      return [path, { path, kind, size, mtimeMs, identity }];
    });
  return new Map(entries);
}

/** Never throws: a file that cannot be read is refused with a reason. */
export function readManifest(entry: Entry, context: ReadContext): Reading {
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
    return refuse(entry.path, { code: "Syntax", message: error?.message ?? "is not text" });
  }
  const manifest = decodeManifest(text.value, {
    source: "file",
    ref: entry.path,
    nodeName: context.nodeName,
    clusterDNS: context.clusterDNS ?? false,
    sha256: context.sha256,
  });
  return { type: "Decoded", digest: context.sha256(bytes), manifest };
}

export function joinPath(directory: string, name: string): string {
  return directory.endsWith("/") ? `${directory}${name}` : `${directory}/${name}`;
}

function refusalOf(entry: Entry): Reading | undefined {
  switch (entry.kind) {
    case "file":
      if (entry.size <= FILE_LIMITS.bytes) return undefined;
      return refuse(entry.path, {
        code: "TooLarge",
        message: `has ${entry.size} bytes; a manifest has at most ${FILE_LIMITS.bytes}`,
      });
    case "directory":
      return refuse(entry.path, {
        code: "NotAFile",
        message: "is a directory; manifests lie directly in the manifest directory",
      });
    case "symlink":
      return refuse(entry.path, {
        code: "NotAFile",
        message: "is a symbolic link; put a regular file here",
      });
    case "other":
      return refuse(entry.path, {
        code: "NotAFile",
        message: "is not a regular file (a pipe, a socket or a device)",
      });
  }
}

function refuse(ref: string, why: Pick<Rejection, "code" | "message">): Reading {
  const rejection: Rejection = { source: "file", ref, path: "", ...why };
  // Only a regular file can have contained a pod.
  return { type: "Refused", rejection, mayHoldPods: why.code !== "NotAFile" };
}

/** The rejection of a directory that cannot be read. */
export function directoryError(directory: string, message: string): Rejection {
  return { source: "file", ref: directory, code: "DirectoryError", path: "", message };
}

/** The directory as last seen. */
export type DirectorySeen =
  | { readonly type: "Never" }
  | { readonly type: "There"; readonly identity: string }
  | { readonly type: "Gone" };
