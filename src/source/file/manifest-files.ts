// Performs: lists the directory of manifests, and reads one file of it.

import { decodeManifest } from "../../api/decode/decode-manifest.ts";
import type { Rejection } from "../../api/pod/desired-pod.ts";
import { FILE_LIMITS } from "../../api/yaml/text-limits.ts";
import { decodeText } from "../../api/yaml/yaml-documents.ts";
import type { Files } from "../../host/files.ts";
import type { FileKind } from "../../lib/plain-files.ts";
import { messageOf } from "../../lib/errors.ts";
import { fileRejection } from "../rejections.ts";
import type { Look } from "./manifest-settle.ts";
import type { Reading } from "./manifest-entry.ts";
import type { Sha256 } from "../../lib/system-sha256.ts";

export interface Entry extends Look {
  readonly path: string;
  readonly kind: FileKind;
}

export interface ReadContext {
  readonly files: Files;
  readonly nodeName: string;
  /** Whether the node has servers for `dnsPolicy: ClusterFirst`; absent = no. */
  readonly clusterDNS?: boolean;
  readonly sha256: Sha256;
}

/** Neither hidden files nor backups such as `web.yaml.bak` or `web.yaml~`. */
export const MANIFEST_NAME = /^[^.].*\.(yaml|yml|json)$/;

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

const NOT_A_FILE: Readonly<Record<Exclude<FileKind, "file">, string>> = {
  directory: "is a directory; manifests lie directly in the manifest directory",
  symlink: "is a symbolic link; put a regular file here",
  other: "is not a regular file (a pipe, a socket or a device)",
};

function refusalOf({ path, kind, size }: Entry): Reading | undefined {
  if (kind !== "file") return refuse(path, { code: "NotAFile", message: NOT_A_FILE[kind] });
  if (size <= FILE_LIMITS.bytes) return undefined;
  const message = `has ${size} bytes; a manifest has at most ${FILE_LIMITS.bytes}`;
  return refuse(path, { code: "TooLarge", message });
}

function refuse(path: string, why: Pick<Rejection, "code" | "message">): Reading {
  // Only a regular file can have contained a pod.
  const mayHoldPods = why.code !== "NotAFile";
  return { type: "Refused", rejection: fileRejection(path, why), mayHoldPods };
}

/** The directory as last seen. */
export type DirectorySeen =
  | { readonly type: "Never" }
  | { readonly type: "There"; readonly identity: string }
  | { readonly type: "Gone" };
