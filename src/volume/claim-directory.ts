// Performs: the directories of persistentVolumeClaims: `claimRoot/<namespace>/<name>`, created on first use and kept until
// their data is removed explicitly.

import { dnsLabelError, subdomainNameError } from "../api/validation/validate-names.ts";
import type { Edges } from "../edges.ts";
import type { FileInfo } from "../host/files.ts";
import { AgentError, configError } from "../lib/errors.ts";

interface ClaimsOptions extends Pick<Edges, "files" | "mounts"> {
  readonly claimRoot: string;
  /** Without a mount nothing is created there: data for a missing disk must not fill the root disk. */
  readonly claimRootMustBeMount: boolean;
}

export interface ClaimName {
  readonly namespace: string;
  readonly name: string;
}

/** Only root may enter; for directories that the agent creates. */
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
   * Returns its directory with the data so far. Throws AgentError `CreateContainerConfigError` while the disk of claims
   * is missing, `FailedMount` when another entry has its path.
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

  /** The path of `setUp`. Throws AgentError `CreateContainerConfigError` while the disk of claims is missing. */
  check(claim: ClaimName): string {
    const { mounts, claimRootMustBeMount } = this.#options;
    const path = this.path(claim);
    if (!claimRootMustBeMount || mounts.isMountPoint(this.#root)) return path;
    throw configError(
      `persistentvolumeclaim "${claim.name}" waits for ${this.#root} to be a mount point (claimRootMustBeMount): check that its disk is connected and mounted`,
    );
  }

  /** Throws what `check` does, and AgentError `FailedMount` unless its directory exists. */
  checkThere(claim: ClaimName): void {
    const path = this.check(claim);
    if (this.#isDirectory(path)) return;
    const message = `the data of persistentvolumeclaim "${claim.name}" is gone: ${path} does not exist`;
    throw new AgentError({ reason: "FailedMount", message });
  }

  /** Throws AgentError `InvalidName` for names that could lead to another directory. */
  path(claim: ClaimName): string {
    const wrong = dnsLabelError(claim.namespace) ?? subdomainNameError(claim.name);
    if (wrong !== undefined) {
      const message = `"${claim.namespace}/${claim.name}" is not a valid name of a persistentvolumeclaim: ${wrong}`;
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
   * Removes its data permanently; missing data is ignored. Throws AgentError `ClaimBusy` while there is a mount in it. The
   * caller makes sure that no pod uses it.
   */
  removeData(claim: ClaimName): void {
    const { files, mounts } = this.#options;
    const path = this.path(claim);
    if (!this.#isDirectory(this.#directoryOf(claim.namespace)) || !this.#isDirectory(path)) return;
    const mounted = mounts.isMountPoint(path) ? path : mounts.mountsUnder(path)[0];
    if (mounted !== undefined) {
      const message = `the data of persistentvolumeclaim "${claim.name}" is not removed: ${mounted} is a mount point`;
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
    // No claim's name begins with a dot; a directory under its final name is complete.
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
      // A file system without permissions (FAT) creates it and then refuses the mode.
      if (files.info(path)?.kind !== "directory") throw error;
    }
  }
}
