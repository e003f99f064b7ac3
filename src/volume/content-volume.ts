// Performs: volumes that the agent fills, and refills when a ConfigMap, a Secret or a label changes. They lie in one
// tmpfs per pod: Secrets must never reach a disk, and many small files on a disk would delay every sync on it.

import { nestedMountPoints } from "../api/validation/nested-mounts.ts";
import type { Pod } from "../api/v1/pod.ts";
import { AgentError } from "../lib/errors.ts";
import { type AtomicContent, AtomicDirectory } from "./atomic-directory.ts";
import { projectVolume, type ProjectionFacts } from "./projection.ts";
import type { ContentVolume } from "./volume-kinds.ts";
import { isWithin } from "../api/validation/reference-rules.ts";
import { makePodDirectory, type VolumeHost } from "./volume-directory.ts";
import { contentDirectory, partsDirectory } from "./volume-paths.ts";
import type { Container } from "../api/v1/container.ts";
import { isPart } from "../api/v1/volume-mounts.ts";

/** The data of one pod's volumes, and their place. */
export interface ContentHost {
  readonly projection: ProjectionFacts;
  readonly pod: Pod;
  readonly place: ContentPlace;
}

/**
 * Returns its path. Content whose source is missing since it was set up stays visible, as in the kubelet. Throws
 * AgentError `CreateContainerConfigError` when an object or key is missing.
 */
export function setUpContent(host: ContentHost, volume: ContentVolume): string {
  const { missing, content } = contentOf(host, volume);
  const shown = missing.length === 0 ? undefined : host.place.shown(volume);
  if (shown !== undefined) return shown.root;
  requireNothingMissing(missing);
  const directory = host.place.make(volume);
  directory.write(content);
  return directory.root;
}

/** Throws what `setUpContent` would for missing objects and keys; creates nothing. */
export function checkContent(host: ContentHost, volume: ContentVolume): void {
  const { missing } = contentOf(host, volume);
  if (missing.length > 0 && host.place.shown(volume) === undefined) requireNothingMissing(missing);
}

/** True if containers see different content now. A volume that is not set up is left to `setUpContent`. */
export function refreshContent(host: ContentHost, volume: ContentVolume): boolean {
  const shown = host.place.shown(volume);
  if (shown === undefined) return false;
  const { missing, content } = contentOf(host, volume);
  requireNothingMissing(missing);
  return shown.write(content);
}

/** Whether the container mounts only a part of this volume, which it sees as of its start. */
export function isMountedInPart({ volumeMounts }: Container, { name }: ContentVolume): boolean {
  return volumeMounts.some((mount) => mount.name === name && isPart(mount));
}

function requireNothingMissing(missing: readonly string[]): void {
  if (missing.length === 0) return;
  throw new AgentError({ reason: "CreateContainerConfigError", message: missing.join("; ") });
}

interface WantedContent {
  readonly missing: readonly string[];
  readonly content: AtomicContent;
}

function contentOf({ projection, pod, place }: ContentHost, volume: ContentVolume): WantedContent {
  const { files, missing } = projectVolume(volume, pod, projection);
  const directories = nestedMountPoints(pod, volume.name);
  return { missing, content: { files, directories, ...place.group } };
}

/** Only root may enter; the directories below are bind mounted into containers. */
const ROOT_MODE = 0o700;
/** Every container may read. */
const VOLUME_MODE = 0o755;

/** Made anew for each operation on a pod: it caches whether the tmpfs is mounted. */
export class ContentPlace {
  /** The volumes' group. */
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

  /** The content that containers see; undefined = it was never set up, or lost in a reboot. */
  shown(volume: ContentVolume): AtomicDirectory | undefined {
    if (!this.#isSetUp()) return undefined;
    const directory = this.#directoryOf(volume);
    return directory.isWritten ? directory : undefined;
  }

  /** Creates the directory if it does not exist. */
  make(volume: ContentVolume): AtomicDirectory {
    const { files } = this.#host;
    if (!this.#isSetUp()) this.#mount();
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

  /** A directory that a container mounts by subPath would be empty for it after its removal; a mounted file would not. */
  #isBound(path: string): boolean {
    const { files, mounts, stateDir } = this.#host;
    const bound = mounts.boundUnder(partsDirectory(stateDir, this.#uid));
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
    makePodDirectory(this.#host, this.#uid);
    files.makeDirectory(this.#root, ROOT_MODE);
    mounts.tmpfs(this.#root, { mode: ROOT_MODE });
    this.#isMounted = true;
  }
}
