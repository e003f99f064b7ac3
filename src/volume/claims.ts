// Performs: the data of persistentVolumeClaims: `claimRoot/<namespace>/<name>`, made on first use, kept until somebody
// says otherwise.

import { dnsLabelError, subdomainNameError } from "../api/validation/validate-names.ts";
import type { FileInfo, Files } from "../host/files.ts";
import type { Mounts } from "../host/mounts.ts";
import { AgentError } from "../lib/errors.ts";

export interface ClaimsOptions {
  readonly files: Files;
  readonly mounts: Mounts;
  readonly claimRoot: string;
  /** Nothing is made in it while nothing is mounted there: a missing disk must not fill the one below. */
  readonly claimRootMustBeMount: boolean;
}

export interface ClaimName {
  readonly namespace: string;
  readonly name: string;
}

/** Only root gets past these, where the directory is ours to make. */
const PARENT_MODE = 0o750;
/** Any user of any container may write, as to an emptyDir. */
const CLAIM_MODE = 0o777;

export class Claims {
  readonly #options: ClaimsOptions;
  readonly #root: string;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    this.#root = options.claimRoot.replace(/\/+$/, "");
  }

  /**
   * Its directory, with whatever is in it. Throws AgentError `CreateContainerConfigError` while the disk of claims is
   * not there, `FailedMount` when something else lies in the way.
   */
  setUp(claim: ClaimName): string {
    const path = this.check(claim);
    if (!this.#options.claimRootMustBeMount)
      this.#options.files.makeDirectory(this.#root, PARENT_MODE);
    const parent = this.#directoryOf(claim.namespace);
    if (!this.#isDirectory(parent)) this.#make(parent, PARENT_MODE);
    if (!this.#isDirectory(path)) this.#finish(parent, path);
    return path;
  }

  /** The path that `setUp` would make. Throws AgentError `CreateContainerConfigError` while the disk of claims is not there. */
  check(claim: ClaimName): string {
    const { mounts, claimRootMustBeMount } = this.#options;
    const path = this.path(claim);
    if (!claimRootMustBeMount || mounts.isMountPoint(this.#root)) return path;
    throw new AgentError({
      reason: "CreateContainerConfigError",
      message: `persistentvolumeclaim "${claim.name}" waits for ${this.#root} to be a mount point (claimRootMustBeMount): is its disk there?`,
    });
  }

  /** Throws what `check` does, and AgentError `FailedMount` unless its directory is there. */
  checkThere(claim: ClaimName): void {
    const path = this.check(claim);
    if (this.#isDirectory(path)) return;
    const message = `the data of persistentvolumeclaim "${claim.name}" is not there any more: there is no ${path}`;
    throw new AgentError({ reason: "FailedMount", message });
  }

  /** Throws AgentError `InvalidName` for names that could lead anywhere else. */
  path(claim: ClaimName): string {
    const wrong = dnsLabelError(claim.namespace) ?? subdomainNameError(claim.name);
    if (wrong !== undefined) {
      const message = `"${claim.namespace}/${claim.name}" names no persistentvolumeclaim: ${wrong}`;
      throw new AgentError({ reason: "InvalidName", message });
    }
    return `${this.#directoryOf(claim.namespace)}/${claim.name}`;
  }

  /** The claims that have data, by namespace and name. */
  list(): readonly ClaimName[] {
    return this.#directoriesIn(this.#root).flatMap((namespace) =>
      this.#directoriesIn(this.#directoryOf(namespace)).map((name) => ({ namespace, name })),
    );
  }

  /**
   * Removes everything in it, for ever; nothing there = fine. Refused (AgentError `ClaimBusy`) while something is mounted
   * in it. That no pod uses it is for the caller to know.
   */
  removeData(claim: ClaimName): void {
    const { files, mounts } = this.#options;
    const path = this.path(claim);
    if (!this.#isDirectory(this.#directoryOf(claim.namespace)) || !this.#isDirectory(path)) return;
    const mounted = mounts.isMountPoint(path) ? path : mounts.mountsUnder(path)[0];
    if (mounted !== undefined) {
      const message = `the data of persistentvolumeclaim "${claim.name}" stays: ${mounted} is a mount point`;
      throw new AgentError({ reason: "ClaimBusy", message });
    }
    files.removeTree(path);
  }

  #directoryOf(namespace: string): string {
    return `${this.#root}/${namespace}`;
  }

  #directoriesIn(path: string): readonly string[] {
    const { files } = this.#options;
    if (files.target(path)?.kind !== "directory") return [];
    const isClaim = ({ kind, name }: FileInfo): boolean =>
      kind === "directory" && subdomainNameError(name) === undefined;
    return files
      .list(path)
      .filter(isClaim)
      .map(({ name }) => name);
  }

  /** False = nothing there. A link, which could lead anywhere, is never followed. */
  #isDirectory(path: string): boolean {
    const info = this.#options.files.info(path);
    if (info === undefined) return false;
    if (info.kind === "directory") return true;
    const message = `${path} is no directory but a ${info.special ?? info.kind}: it is not followed, and not replaced`;
    throw new AgentError({ reason: "FailedMount", message });
  }

  #finish(parent: string, path: string): void {
    const { files } = this.#options;
    // No claim's name begins with a dot. Under its own name a directory is finished.
    const unfinished = `${parent}/.new`;
    files.removeTree(unfinished);
    this.#make(unfinished, CLAIM_MODE);
    files.rename(unfinished, path);
  }

  #make(path: string, mode: number): void {
    const { files } = this.#options;
    try {
      files.makeDirectory(path, mode);
    } catch (error) {
      // A file system without permissions (FAT) makes it and then refuses them.
      if (files.info(path)?.kind !== "directory") throw error;
    }
  }
}
