// Performs: volumes that the agent fills, and refills when a ConfigMap, a Secret or a label changes. They lie in one
// tmpfs per pod: Secrets must never reach a disk, and many small files on a disk would delay every sync on it.

import { nestedMountPoints } from "../api/validation/nested-mounts.ts";
import type { Pod } from "../api/v1/pod.ts";
import { configError } from "../lib/errors.ts";
import { type AtomicContent, AtomicDirectory } from "./atomic-directory.ts";
import {
  projectVolume,
  type ProjectionFacts,
  type ContentVolume,
  type Projection,
  type ProjectedFiles,
  MAX_CONTENT,
} from "./projection.ts";
import { isWithin } from "../api/validation/keys-and-paths.ts";
import {
  makePodDirectory,
  type VolumeHost,
  contentDirectory,
  partsDirectory,
} from "./volume-paths.ts";
import type { Container } from "../api/v1/container.ts";
import { isPart } from "../api/v1/volume-mounts.ts";

/** Only root may enter; the directories below are bind mounted into containers. */
const ROOT_MODE = 0o700;
/** Content of all volumes of one pod, the versions that are being replaced included. */
const POD_BYTES = 4 * MAX_CONTENT;
/** Every container may read. */
const VOLUME_MODE = 0o755;

type ContentHost = VolumeHost & ProjectionFacts;

/** The volumes of one pod. Made anew for each operation on it: caches whether the tmpfs is mounted. */
export class ContentVolumes {
  readonly #host: ContentHost;
  readonly #pod: Pod;
  readonly #root: string;
  /** The volumes' group. */
  readonly #group: number | undefined;
  #isMounted: boolean | undefined;

  constructor(host: ContentHost, pod: Pod) {
    this.#host = host;
    this.#pod = pod;
    this.#root = contentDirectory(host.stateDir, pod.metadata.uid);
    this.#group = pod.spec.securityContext.fsGroup;
  }

  /**
   * Returns its path. Content whose source is missing since it was set up stays visible, as in the kubelet. Throws
   * AgentError `CreateContainerConfigError` when an object or key is missing.
   */
  setUp(volume: ContentVolume): string {
    const { missing, files } = this.#project(volume);
    const shown = missing.length === 0 ? undefined : this.#shown(volume);
    if (shown !== undefined) return shown.root;
    requireNothingMissing(missing);
    const directory = this.#make(volume);
    directory.write(this.#contentOf(volume, files));
    return directory.root;
  }

  /** Throws what `setUp` would for missing objects and keys; creates nothing. */
  check(volume: ContentVolume): void {
    const { missing } = this.#project(volume);
    if (missing.length > 0 && this.#shown(volume) === undefined) requireNothingMissing(missing);
  }

  /** True if containers see different content now. A volume that is not set up is left to `setUp`. */
  refresh(volume: ContentVolume): boolean {
    const shown = this.#shown(volume);
    if (shown === undefined) return false;
    const { missing, files } = this.#project(volume);
    requireNothingMissing(missing);
    return shown.write(this.#contentOf(volume, files));
  }

  #project(volume: ContentVolume): Projection {
    return projectVolume(volume, this.#pod, this.#host);
  }

  #contentOf({ name }: ContentVolume, files: ProjectedFiles): AtomicContent {
    const directories = nestedMountPoints(this.#pod, name);
    return { files, directories, group: this.#group };
  }

  /** The content that containers see; undefined = it was never set up, or lost in a reboot. */
  #shown(volume: ContentVolume): AtomicDirectory | undefined {
    if (!this.#isSetUp()) return undefined;
    const directory = this.#directoryOf(volume);
    return directory.isWritten ? directory : undefined;
  }

  /** Creates the directory if it does not exist. */
  #make(volume: ContentVolume): AtomicDirectory {
    const { files } = this.#host;
    if (!this.#isSetUp()) this.#mount();
    const directory = this.#directoryOf(volume);
    if (files.info(directory.root) === undefined) files.makeDirectory(directory.root, VOLUME_MODE);
    const group = this.#group;
    if (group !== undefined)
      files.shareTree(directory.root, { group, readOnly: true, unlessRootFits: true });
    return directory;
  }

  #directoryOf({ name }: ContentVolume): AtomicDirectory {
    const isHeld = (version: string): boolean => this.#isBound(`/${name}/${version}`);
    return new AtomicDirectory(this.#host.files, `${this.#root}/${name}`, isHeld);
  }

  /** A directory that a container mounts by subPath would be empty for it after its removal; a mounted file would not. */
  #isBound(path: string): boolean {
    const { files, mounts, stateDir } = this.#host;
    const bound = mounts.boundUnder(partsDirectory(stateDir, this.#pod.metadata.uid));
    return bound.some(
      (root) => isWithin(root, path) && files.info(`${this.#root}${root}`)?.kind === "directory",
    );
  }

  /** Without the tmpfs, content would be written to the disk. */
  #isSetUp(): boolean {
    const { files, mounts } = this.#host;
    // Reading the long mount table is avoided for a new pod.
    this.#isMounted ??= files.info(this.#root) !== undefined && mounts.isMountPoint(this.#root);
    return this.#isMounted;
  }

  #mount(): void {
    const { files, mounts } = this.#host;
    makePodDirectory(this.#host, this.#pod.metadata.uid);
    files.makeDirectory(this.#root, ROOT_MODE);
    mounts.tmpfs(this.#root, { mode: ROOT_MODE, sizeBytes: POD_BYTES });
    this.#isMounted = true;
  }
}

/** Whether the container mounts only a part of this volume, which it sees as of its start. */
export function isMountedInPart({ volumeMounts }: Container, { name }: ContentVolume): boolean {
  return volumeMounts.some((mount) => mount.name === name && isPart(mount));
}

function requireNothingMissing(missing: readonly string[]): void {
  if (missing.length > 0) throw configError(missing.join("; "));
}
