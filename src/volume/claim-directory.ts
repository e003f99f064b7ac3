// Performs: the directories of persistentVolumeClaims, created on first use and kept until their data is removed explicitly:
// `claimRoot/<namespace>/<name>`, and `claimRoot/.unsigned/<namespace>/<name>` for pods of unsigned documents, which must not
// get what a pod of a file or of a signed document has written.

import { dnsLabelError, subdomainNameError } from "../api/validation/validate-names.ts";
import type { Edges } from "../edges.ts";
import type { FileInfo } from "../host/files.ts";
import { AgentError, configError } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";

interface ClaimsOptions extends Pick<Edges, "files" | "mounts"> {
  readonly log?: Pick<Logger, "warn"> | undefined;
  readonly claimRoot: string;
  /** Without a mount nothing is created there: data for a missing disk must not fill the root disk. */
  readonly claimRootMustBeMount: boolean;
}

export interface ClaimName {
  readonly namespace: string;
  readonly name: string;
}

/** Whose pod uses a claim. */
export type ClaimUser = "File" | "SignedDocument" | "UnsignedDocument";

export interface ClaimUse extends ClaimName {
  readonly by: ClaimUser;
}

/** No namespace begins with a dot. */
const UNSIGNED = ".unsigned";
/** In the directory of a namespace; no claim's name begins with a dot. */
const NEW = ".new";
const REMOVED = ".removed";

/** Only root may enter; for directories that the agent creates. */
const PARENT_MODE = 0o750;
/** Any user of any container may write, as to an emptyDir. */
const CLAIM_MODE = 0o777;

const USERS: readonly ClaimUser[] = ["File", "SignedDocument", "UnsignedDocument"];

export class Claims {
  readonly #options: ClaimsOptions;
  readonly #root: string;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    this.#root = options.claimRoot.replace(/\/+$/, "");
  }

  /**
   * Returns its directory with the data so far. `unsignedUsers`: the other pods, of unsigned documents, that may write to
   * it now. Throws AgentError `CreateContainerConfigError` while the disk of claims is missing or the data is not for this
   * user, `FailedMount` when another entry has its path.
   */
  setUp(claim: ClaimUse, unsignedUsers: () => readonly string[]): string {
    const path = this.check(claim);
    if (!this.#options.claimRootMustBeMount)
      this.#options.files.makeDirectory(this.#root, PARENT_MODE);
    const parent = this.#parentOf(claim);
    const own = claim.by === "UnsignedDocument" ? [parentOf(parent)] : [];
    for (const directory of [...own, parent])
      if (!this.#isDirectory(directory)) this.#make(directory, PARENT_MODE);
    if (!this.#isDirectory(path) && !this.#adopt(claim, path, unsignedUsers))
      this.#finish(parent, path);
    return path;
  }

  /** The path of `setUp`. Throws AgentError `CreateContainerConfigError` as `setUp` does. */
  check(claim: ClaimUse): string {
    const { mounts, claimRootMustBeMount } = this.#options;
    const path = this.pathOf(claim);
    if (claimRootMustBeMount && !mounts.isMountPoint(this.#root))
      throw configError(
        `persistentvolumeclaim "${claim.name}" waits for ${this.#root} to be a mount point (claimRootMustBeMount): check that its disk is connected and mounted`,
      );
    this.#mustBeFor(claim);
    return path;
  }

  /** Throws what `check` does, and AgentError `FailedMount` unless its directory exists. */
  checkThere(claim: ClaimUse): void {
    const path = this.check(claim);
    if (this.#isDirectory(path)) return;
    const message = `the data of persistentvolumeclaim "${claim.name}" is gone: ${path} does not exist`;
    throw new AgentError({ reason: "FailedMount", message });
  }

  /** Whether it has data. Throws AgentError while its file system may hang. */
  has(claim: ClaimName): boolean {
    return this.#directoriesOf(claim).length > 0;
  }

  /**
   * Takes its data away permanently, also that of unsigned documents, whatever its size; missing data is ignored. The space
   * is free when the directories of `removed` are gone. Throws AgentError `ClaimBusy` while there is a mount in it. The
   * caller makes sure that no pod uses it.
   */
  removeData(claim: ClaimName): void {
    const { files, mounts } = this.#options;
    const there = this.#directoriesOf(claim);
    for (const path of there) {
      const mounted = mounts.isMountPoint(path) ? path : mounts.mountsUnder(path)[0];
      if (mounted === undefined) continue;
      const message = `the data of persistentvolumeclaim "${claim.name}" is not removed: ${mounted} is a mount point`;
      throw new AgentError({ reason: "ClaimBusy", message });
    }
    for (const path of there) files.renameDurably(path, this.#newRemoved(parentOf(path)));
  }

  /** The directories that `removeData` has taken away, to be emptied and removed. */
  removed(): readonly string[] {
    return [this.#root, `${this.#root}/${UNSIGNED}`].flatMap((root) =>
      this.#directoriesIn(root).flatMap((namespace) => {
        const parent = `${root}/${namespace}/${REMOVED}`;
        return this.#directoriesIn(parent).map((name) => `${parent}/${name}`);
      }),
    );
  }

  /** Throws AgentError `InvalidName` for names that could lead to another directory. */
  pathOf(claim: ClaimUse): string {
    const wrong = dnsLabelError(claim.namespace) ?? subdomainNameError(claim.name);
    if (wrong === undefined) return `${this.#parentOf(claim)}/${claim.name}`;
    const message = `"${claim.namespace}/${claim.name}" is not a valid name of a persistentvolumeclaim: ${wrong}`;
    throw new AgentError({ reason: "InvalidName", message });
  }

  #directoriesOf(claim: ClaimName): readonly string[] {
    const paths = new Set(USERS.map((by) => this.pathOf({ ...claim, by })));
    for (const path of paths) this.#mustNotHang(path);
    return [...paths].filter(
      (path) => this.#isDirectory(parentOf(path)) && this.#isDirectory(path),
    );
  }

  /** Here no helper process stands between. */
  #mustNotHang(path: string): void {
    const mount = this.#options.files.hangable(path);
    if (mount === undefined) return;
    const message = `${path} is on ${mount.point} (${mount.type}), a file system that may hang and that the agent itself does not touch; remove the directory of the claim there by hand`;
    throw new AgentError({ reason: "ClaimsMayHang", message });
  }

  /** In the same directory: a namespace may be a file system of its own. */
  #newRemoved(parent: string): string {
    const removed = `${parent}/${REMOVED}`;
    if (!this.#isDirectory(removed)) this.#make(removed, PARENT_MODE);
    for (let number = 0; ; number += 1) {
      const path = `${removed}/${number}`;
      if (this.#options.files.info(path) === undefined) return path;
    }
  }

  #parentOf({ namespace, by }: ClaimUse): string {
    return `${this.#root}${by === "UnsignedDocument" ? `/${UNSIGNED}` : ""}/${namespace}`;
  }

  /** To begin with nothing where the name has data of others would be a surprise: it is refused. */
  #mustBeFor(claim: ClaimUse): void {
    const { files } = this.#options;
    if (claim.by !== "UnsignedDocument" || files.info(this.pathOf(claim)) !== undefined) return;
    const kept = this.pathOf({ ...claim, by: "File" });
    if (files.info(kept) === undefined) return;
    throw configError(
      `the data of persistentvolumeclaim "${claim.name}" (${kept}) was written by pods of a manifest file or of a signed document, and pods of unsigned documents may not use it: choose another name, sign the document, or remove the data at the device with "agent delete pvc ${claim.name} -n ${claim.namespace} --data"`,
    );
  }

  /**
   * True = the data that pods of unsigned documents have written is that of a signed document from now on: documents are
   * signed later than they are written. A file's pod begins with nothing: any sender could have written that data.
   */
  #adopt(claim: ClaimUse, path: string, unsignedUsers: () => readonly string[]): boolean {
    const { files, log } = this.#options;
    const unsigned = this.pathOf({ ...claim, by: "UnsignedDocument" });
    if (claim.by === "UnsignedDocument" || !this.#isDirectory(parentOf(unsigned))) return false;
    if (!this.#isDirectory(unsigned)) return false;
    if (claim.by === "File") {
      const facts = { claim: `${claim.namespace}/${claim.name}`, path, unsigned };
      log?.warn("claim of a file begins empty; pods of unsigned documents have other data", facts);
      return false;
    }
    // What they have mounted would stay theirs to write to under any name.
    const users = unsignedUsers();
    if (users.length > 0) {
      throw configError(
        `the data of persistentvolumeclaim "${claim.name}" (${unsigned}) is still used by pods of unsigned documents (${users.join(", ")}): this pod gets it when they are gone; remove them from their documents, or sign these`,
      );
    }
    files.renameDurably(unsigned, path);
    return true;
  }

  #directoriesIn(path: string): readonly string[] {
    const { files } = this.#options;
    if (files.hangable(path) !== undefined || files.target(path)?.kind !== "directory") return [];
    const isClaim = ({ kind, name }: FileInfo): boolean =>
      kind === "directory" && subdomainNameError(name) === undefined;
    return files
      .list(path)
      .filter(isClaim)
      .map(({ name }) => name);
  }

  /** False = it does not exist. A link, which could lead anywhere, is never followed. */
  #isDirectory(path: string): boolean {
    const info = this.#options.files.info(path);
    if (info === undefined) return false;
    if (info.kind === "directory") return true;
    const message = `${path} is a ${info.special ?? info.kind}, not a directory; it is neither followed nor replaced`;
    throw new AgentError({ reason: "FailedMount", message });
  }

  #finish(parent: string, path: string): void {
    const { files } = this.#options;
    // A directory under its final name is complete.
    const unfinished = `${parent}/${NEW}`;
    files.removeTree(unfinished);
    this.#make(unfinished, CLAIM_MODE);
    files.renameDurably(unfinished, path);
  }

  #make(path: string, mode: number): void {
    const { files } = this.#options;
    try {
      files.makeDirectory(path, mode);
    } catch (error) {
      // A file system without permissions (FAT) creates it and then refuses the mode.
      if (files.info(path)?.kind !== "directory") throw error;
    }
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
