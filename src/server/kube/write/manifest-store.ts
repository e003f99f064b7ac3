// Performs: the manifest files of objects that clients have written: `api.<kind>.<namespace>.<name>.yaml`, one object each.

import { manifestRef } from "../../../api/pod/desired-pod.ts";
import type { NamedPod } from "../../../api/v1/pod.ts";
import { dnsLabelError, subdomainNameError } from "../../../api/validation/validate-names.ts";
import { decodeText, readDocuments } from "../../../api/yaml/yaml-documents.ts";
import { FILE_LIMITS } from "../../../api/yaml/text-limits.ts";
import type { Files } from "../../../host/files.ts";
import { AgentError, messageOf } from "../../../lib/errors.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Sha256 } from "../../../lib/system-sha256.ts";
import type { AskDirectory } from "../../../source/file/file-source.ts";
import { joinPath } from "../../../source/file/manifest-files.ts";
import { nameOf } from "../../../source/file/manifest-entry.ts";
import { onlyItem, type JudgeContext, type JudgedItem } from "./judge-object.ts";

/** Where clients' objects become files, and for which node they are judged. */
export interface ManifestPlace {
  /** `staticPodPath`. */
  readonly directory: string;
  readonly nodeName: string;
  /** Whether the node has servers for `dnsPolicy: ClusterFirst`. */
  readonly clusterDNS: boolean;
  readonly sha256: Sha256;
  /** Absent = no file system hangs. */
  readonly askDirectory?: AskDirectory;
}

export interface ManifestStoreOptions extends ManifestPlace {
  readonly files: Files;
  readonly log: Logger;
}

/** Why no object can be written, and the remedy. */
export interface StoreTrouble {
  readonly code: 409 | 500;
  readonly message: string;
}

/** What stands in the file of an object. */
export type StoredManifest =
  | { readonly type: "None" }
  | {
      readonly type: "Own";
      /** As written; undefined = the file is broken. */
      readonly object: JsonObject | undefined;
      /** undefined = this node refuses it. */
      readonly item: JudgedItem | undefined;
    }
  /** The file is not what this API has written; a sentence without its path. */
  | { readonly type: "Foreign"; readonly why: string };

const PREFIX = "api.";
const SUFFIX = ".yaml";
/** What `Files.writeAtomic` leaves behind when the power fails: hidden, so it is no manifest. */
const TEMPORARY = /^\.api\..*\.yaml\.tmp$/;
/** Bytes of a file name: with the dot and `.tmp` around it, Linux permits 255. */
const MAX_FILE_NAME = 240;
/** Bytes of the hash that stands for the end of a longer name. */
const HASH_LENGTH = 32;
const PLAIN_MODE = 0o644;
const SECRET_MODE = 0o600;

export class ManifestStore {
  readonly #options: ManifestStoreOptions;

  constructor(options: ManifestStoreOptions) {
    this.#options = options;
  }

  get directory(): string {
    return this.#options.directory;
  }

  get nodeName(): string {
    return this.#options.nodeName;
  }

  /** undefined = no object has this name. */
  pathOf(kind: string, { namespace, name }: NamedPod): string | undefined {
    if (dnsLabelError(namespace) !== undefined || subdomainNameError(name) !== undefined)
      return undefined;
    const full = `${PREFIX}${kind.toLowerCase()}.${namespace}.${name}`;
    const { directory, sha256 } = this.#options;
    if (full.length + SUFFIX.length <= MAX_FILE_NAME)
      return joinPath(directory, `${full}${SUFFIX}`);
    // `~` is in no name, so that no two objects share a file.
    const start = full.slice(0, MAX_FILE_NAME - SUFFIX.length - HASH_LENGTH - 1);
    return joinPath(directory, `${start}~${sha256(full).slice(0, HASH_LENGTH)}${SUFFIX}`);
  }

  context(path: string): JudgeContext {
    const { nodeName, clusterDNS, sha256 } = this.#options;
    return { path, nodeName, clusterDNS, sha256 };
  }

  /** `sourceRef` of the object in its own file. */
  refOf(path: string): string {
    return manifestRef(path, 0);
  }

  /**
   * Why nothing can be written; undefined = it can. The directory may lie on a file system that hangs, which is asked from
   * another process.
   */
  async trouble(signal: AbortSignal): Promise<StoreTrouble | undefined> {
    const { files, directory, askDirectory } = this.#options;
    const mount = askDirectory === undefined ? undefined : files.hangable(directory);
    if (mount !== undefined) {
      const why = await askDirectory?.(directory, mount.point, signal);
      if (why !== undefined)
        return { code: 500, message: `${mount.point} (${mount.type}) does not answer: ${why}` };
    }
    try {
      const target = files.target(directory);
      if (target?.kind === "directory") return undefined;
      if (target !== undefined) return { code: 409, message: singleFile(directory) };
      const message = `the manifest directory ${directory} does not exist: create it, or set staticPodPath`;
      return { code: 500, message };
    } catch (error) {
      return { code: 500, message: messageOf(error) };
    }
  }

  /** Throws AgentError `FileError` if the file cannot be read. */
  read(path: string, kind: string, { namespace, name }: NamedPod): StoredManifest {
    const { files } = this.#options;
    const info = files.info(path);
    if (info === undefined) return { type: "None" };
    if (info.kind !== "file") return { type: "Foreign", why: "is not a regular file" };
    const text = decodeText(files.read(path, FILE_LIMITS.bytes));
    if (!text.ok) return { type: "Own", object: undefined, item: undefined };
    const { documents } = readDocuments(text.value);
    if (documents.length > 1) return { type: "Foreign", why: "was edited and has several objects" };
    const object = documents[0]?.value;
    const item = onlyItem(text.value, this.context(path));
    const found = item === undefined ? undefined : nameOf(item);
    const isOwn =
      found === undefined ||
      (found.kind === kind && found.namespace === namespace && found.name === name);
    if (!isOwn) return { type: "Foreign", why: "was edited and has another object" };
    return { type: "Own", object: isJsonObject(object) ? object : undefined, item };
  }

  /** Throws AgentError `NotWritten`: then the file is as before. */
  write(path: string, kind: string, text: string): void {
    const { files, log } = this.#options;
    try {
      files.writeAtomic(path, text, kind === "Secret" ? SECRET_MODE : PLAIN_MODE);
    } catch (cause) {
      throw notWritten(cause);
    }
    log.info("manifest written", { path });
  }

  /** Throws AgentError `NotWritten`: then the file is still there. */
  remove(path: string): void {
    const { files, log } = this.#options;
    try {
      files.remove(path);
    } catch (cause) {
      throw notWritten(cause);
    }
    log.info("manifest removed", { path });
  }

  /** Removes what an interrupted write has left behind. */
  sweep(): void {
    const { files, directory, log } = this.#options;
    try {
      // Asking a file system that hangs would stop the start; the file is hidden, and the next write of its name replaces it.
      if (files.hangable(directory) !== undefined) return;
      if (files.target(directory)?.kind !== "directory") return;
      for (const { name } of files.list(directory))
        if (TEMPORARY.test(name)) files.remove(joinPath(directory, name));
    } catch (error) {
      log.warn("unfinished manifest not removed", { directory, message: messageOf(error) });
    }
  }
}

function singleFile(directory: string): string {
  return `staticPodPath ${directory} is a single file: set it to a directory, in which each object has a file of its own`;
}

function notWritten(cause: unknown): AgentError {
  const message = `${messageOf(cause)}; check that the manifest directory can be written and has room`;
  return new AgentError({ reason: "NotWritten", message, cause });
}
