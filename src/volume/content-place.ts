// Performs: where the volumes that the agent fills lie: in one tmpfs for each pod. Secrets must never reach a disk, and
// a disk that has to take dozens of small files makes everybody wait who syncs anything on it: so they lie in memory,
// all of them.

import type { Pod } from "../api/v1/pod.ts";
import { isWithin } from "../api/validation/reference-rules.ts";
import { AtomicDirectory } from "./atomic-directory.ts";
import { makePodDirectory, type VolumeHost } from "./volume-directory.ts";
import type { ContentVolume } from "./volume-kinds.ts";
import { contentDirectory, partsDirectory } from "./volume-paths.ts";

/** Nobody but root gets past it; what is bound into a container is below. */
const ROOT_MODE = 0o700;
/** Every container may look. */
const VOLUME_MODE = 0o755;

/** For one look at one pod: what it has found it does not ask again. */
export class ContentPlace {
  /** What the volumes belong to. */
  readonly group: { readonly group?: number };
  readonly #host: VolumeHost;
  readonly #uid: string;
  readonly #root: string;
  #isMounted: boolean | undefined;

  constructor(host: VolumeHost, { metadata, spec }: Pod) {
    const { fsGroup } = spec.securityContext;
    this.group = fsGroup === undefined ? {} : { group: fsGroup };
    this.#host = host;
    this.#uid = metadata.uid;
    this.#root = contentDirectory(host.stateDir, metadata.uid);
  }

  /** What containers see of it now; undefined = it was never set up, or has gone with a reboot. */
  shown(volume: ContentVolume): AtomicDirectory | undefined {
    if (!this.#stands()) return undefined;
    const directory = this.#directoryOf(volume);
    return directory.isWritten ? directory : undefined;
  }

  /** There to be written; of one that is there already nothing is made anew. */
  make(volume: ContentVolume): AtomicDirectory {
    const { files } = this.#host;
    if (!this.#stands()) this.#mount();
    const directory = this.#directoryOf(volume);
    if (files.info(directory.root) === undefined) files.makeDirectory(directory.root, VOLUME_MODE);
    const { group } = this.group;
    if (group !== undefined)
      files.shareTree(directory.root, { group, readOnly: true, unlessRootFits: true });
    return directory;
  }

  #directoryOf({ name }: ContentVolume): AtomicDirectory {
    const isHeld = (version: string): boolean => this.#isBound(`/${name}/${version}`);
    return new AtomicDirectory(this.#host.files, `${this.#root}/${name}`, isHeld);
  }

  /** A directory that a container has mounted as a part of a volume is empty for it once it is removed; a file is not. */
  #isBound(path: string): boolean {
    const { files, mounts, stateDir } = this.#host;
    const bound = mounts.boundUnder(partsDirectory(stateDir, this.#uid));
    return bound.some(
      (root) => isWithin(root, path) && files.info(`${this.#root}${root}`)?.kind === "directory",
    );
  }

  /** Below a tmpfs that has gone, whatever is written would be on the disk. */
  #stands(): boolean {
    const { files, mounts } = this.#host;
    // The kernel's table is long: for a new pod it need not be read.
    this.#isMounted ??= files.info(this.#root) !== undefined && mounts.isMountPoint(this.#root);
    return this.#isMounted;
  }

  #mount(): void {
    const { files, mounts } = this.#host;
    makePodDirectory(this.#host, this.#uid);
    files.makeDirectory(this.#root, ROOT_MODE);
    mounts.tmpfs(this.#root, { mode: ROOT_MODE });
    this.#isMounted = true;
  }
}
