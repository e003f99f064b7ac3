// Performs: sets up the volumes of a pod on the host and refreshes them; tear-down.ts removes them. Every call may be
// repeated, also after a crash in the middle. kubelet: volume manager

import { NO_OBJECTS } from "../api/v1/object/local-object.ts";
import type { Pod, PodUID } from "../api/v1/pod.ts";
import type { Volume } from "../api/v1/volumes.ts";
import { AgentError, CONFIG_ERROR, messageOf, reasonOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { ClaimVolumes, type UnsignedUsers } from "./claim-volume.ts";
import { Claims, type ClaimUser } from "./claim-directory.ts";
import { ContentVolumes, isMountedInPart } from "./content-volume.ts";
import { setUpEmptyDir, type EmptyDirHost } from "./empty-dir.ts";
import { type ProjectionFacts, isContentVolume, isReadOnlyVolume } from "./projection.ts";
import {
  checkHostPath,
  renewHostPath,
  setUpHostPath,
  type HostPathHost,
  type JudgeHostPath,
} from "./host-path.ts";
import { emptyLargeVolumes, leftovers, tearDown } from "./tear-down.ts";
import { RemoteVolumes, type AskHelper } from "./remote-volumes.ts";
import { emptyDirPath } from "./volume-paths.ts";
import type { Container } from "../api/v1/container.ts";
import type { SubPath } from "../api/v1/volume-mounts.ts";
import { prepareSubPath } from "./sub-path.ts";

export interface VolumesOptions extends EmptyDirHost, Partial<ProjectionFacts> {
  /** Judges where hostPaths of the pod lead to; undefined = they are taken as written. */
  readonly hostPathError?: (pod: Pod) => JudgeHostPath | undefined;
  /** Whose pod it is; absent = of a file. */
  readonly claimUser?: (pod: Pod) => ClaimUser;
  /** Absent = there are none. */
  readonly unsignedUsers?: UnsignedUsers;
  readonly log?: Pick<Logger, "warn">;
  /** Absent = `stateDir/claims`. */
  readonly claimRoot?: string;
  /** Absent = volumes on file systems that may hang are used like others, as a helper process itself does. */
  readonly askHelper?: AskHelper;
  readonly claimRootMustBeMount?: boolean;
}

/** Result of `refresh`; the volumes named in `problems` are unchanged. */
interface Refreshed {
  readonly changed: readonly string[];
  readonly problems: readonly string[];
}

export class Volumes {
  readonly claims: Claims;
  readonly #claims: ClaimVolumes;
  readonly #remote: RemoteVolumes;
  readonly #options: VolumesOptions &
    ProjectionFacts &
    Pick<Required<VolumesOptions>, "claimUser" | "unsignedUsers">;

  constructor(options: VolumesOptions) {
    const { files, mounts, stateDir, claimRoot } = options;
    const defaults = {
      objects: () => NO_OBJECTS,
      renderDownward: () => undefined,
      claimUser: () => "File" as const,
      unsignedUsers: () => [],
    };
    this.#options = { ...defaults, ...options };
    this.claims = new Claims({
      files,
      mounts,
      log: options.log,
      claimRoot: claimRoot ?? `${stateDir}/claims`,
      claimRootMustBeMount: options.claimRootMustBeMount ?? false,
    });
    this.#claims = new ClaimVolumes(this.#options, this.claims);
    this.#remote = new RemoteVolumes({
      files,
      stateDir,
      ask: options.askHelper,
      pathOf: (volume, pod) => this.#pathOnHost(volume, pod),
      traitsOf: (volume, pod) => ({
        claimUser: this.#options.claimUser(pod),
        unsignedUsers:
          "persistentVolumeClaim" in volume ? this.#claims.unsignedUsers(volume, pod) : [],
        isJudged: options.hostPathError?.(pod) !== undefined,
      }),
    });
  }

  /**
   * Volume name → path on the host, without image volumes, which the runtime mounts. Repeating it changes only what
   * `refresh` would. Throws AgentError `CreateContainerConfigError` when an object, a key, or the disk of claims is
   * missing, otherwise `FailedMount`; it names every volume that is not ready.
   */
  setUp(pod: Pod): ReadonlyMap<string, string> {
    const paths = new Map<string, string>();
    const content = new ContentVolumes(this.#options, pod);
    forEach(pod.spec.volumes, (volume) => {
      const path = this.#setUp(volume, pod, content);
      if (path !== undefined) paths.set(volume.name, path);
    });
    return paths;
  }

  /** Throws what `setUp` would, as far as it can be checked without creating anything. */
  check(pod: Pod): void {
    const content = new ContentVolumes(this.#options, pod);
    forEach(pod.spec.volumes, (volume) => {
      if (this.#remote.mountOf(volume, pod) !== undefined) this.#checkRemote(volume, pod);
      else if ("hostPath" in volume) checkHostPath(this.#hostPathsOf(pod), volume);
      else if ("persistentVolumeClaim" in volume) this.#claims.check(volume, pod);
      if (isContentVolume(volume)) content.check(volume);
    });
  }

  /**
   * To be called right before a container mounts the paths of `setUp`: resolves hostPaths again, and checks that claims are
   * still there. Throws AgentError `CreateContainerConfigError` when the disk of claims is gone, otherwise `FailedMount`.
   */
  renewPaths(pod: Pod, paths: ReadonlyMap<string, string>): void {
    forEach(pod.spec.volumes, (volume) => {
      if (!paths.has(volume.name) || this.#remote.mountOf(volume, pod) !== undefined) return;
      if ("hostPath" in volume) renewHostPath(this.#hostPathsOf(pod), volume, pod);
      if ("persistentVolumeClaim" in volume) this.#claims.checkThere(volume, pod);
    });
  }

  /** Throws, or rejects with, AgentError `CreateContainerConfigError`, or what `renewPaths` and `setUpRemote` do. */
  prepareSubPath(pod: Pod, part: SubPath, signal: AbortSignal): string | Promise<string> {
    const volume = pod.spec.volumes.find(({ name }) => name === part.volumeName);
    const wanted = { ...part, readOnly: volume !== undefined && isReadOnlyVolume(volume) };
    this.renewPaths(pod, new Map([[part.volumeName, part.volumePath]]));
    const mount = this.#remote.mountAt(`${part.volumePath}/${part.subPath}`);
    if (volume === undefined || mount === undefined) return prepareSubPath(this.#options, wanted);
    return this.#remote.prepareSubPath({ volume, pod, mount }, wanted, signal);
  }

  /**
   * The part of `setUp` that concerns file systems that may hang: a helper process does it. undefined = there is none.
   * Rejects with AgentError `FailedMount` when one does not answer, or as `setUp` throws.
   */
  setUpRemote(pod: Pod, signal: AbortSignal): Promise<void> | undefined {
    const remote = pod.spec.volumes.filter(
      (volume) => this.#remote.mountOf(volume, pod) !== undefined,
    );
    return remote.length === 0 ? undefined : this.#setUpAll(remote, pod, signal);
  }

  /**
   * The slow part of `setUp`: gives large claims to the pod's group, in steps between which the caller yields to the event
   * loop. `setUp` reports other problems. Throws AgentError `FailedMount`.
   */
  *shareLargeClaims(pod: Pod): Iterable<void> {
    for (const volume of pod.spec.volumes) {
      if (!("persistentVolumeClaim" in volume)) continue;
      if (this.#remote.mountOf(volume, pod) !== undefined) continue;
      try {
        yield* this.#claims.shareLarge(volume, pod);
      } catch (cause) {
        throw problemOf(volume, cause);
      }
    }
  }

  /**
   * Updates the volumes of a running pod after its ConfigMaps, Secrets or labels changed; before a container starts, only
   * those it mounts parts of, because a part never changes later. Never throws for missing objects.
   */
  refresh(pod: Pod, starting?: Container): Refreshed {
    const changed: string[] = [];
    const problems: string[] = [];
    const content = new ContentVolumes(this.#options, pod);
    for (const volume of pod.spec.volumes.filter(isContentVolume)) {
      if (starting !== undefined && !isMountedInPart(starting, volume)) continue;
      try {
        if (content.refresh(volume)) changed.push(volume.name);
      } catch (cause) {
        problems.push(problemOf(volume, cause).message);
      }
    }
    return { changed, problems };
  }

  /** Bytes on disk of the pod's emptyDirs that are on a disk; slow for large trees. */
  usage(pod: Pod): ReadonlyMap<string, number> {
    const { files, stateDir } = this.#options;
    const onDisk = pod.spec.volumes.flatMap((volume) => {
      if (!("emptyDir" in volume) || volume.emptyDir.medium !== "") return [];
      const path = emptyDirPath(stateDir, pod.metadata.uid, volume.name);
      return files.info(path)?.kind === "directory" ? [[volume.name, path] as const] : [];
    });
    return new Map(onDisk.map(([name, path]) => [name, files.diskUsage(path)]));
  }

  tearDown(uid: PodUID): void {
    this.#remote.forget(uid);
    tearDown(this.#options, uid);
  }

  emptyLargeVolumes(uid: PodUID): Iterable<void> {
    return emptyLargeVolumes(this.#options, uid);
  }

  leftovers(): readonly PodUID[] {
    return leftovers(this.#options);
  }

  #setUp(volume: Volume, pod: Pod, content: ContentVolumes): string | undefined {
    if ("emptyDir" in volume) return setUpEmptyDir(this.#options, volume, pod);
    const remote = this.#remote.mountOf(volume, pod);
    if (remote !== undefined) return this.#remote.path(volume, pod, remote);
    if ("hostPath" in volume) return setUpHostPath(this.#hostPathsOf(pod), volume, pod);
    if ("persistentVolumeClaim" in volume) return this.#claims.setUp(volume, pod);
    return isContentVolume(volume) ? content.setUp(volume) : undefined;
  }

  /** Of what lies outside of the pod's own directory. */
  #pathOnHost(volume: Volume, pod: Pod): string | undefined {
    if ("hostPath" in volume) return volume.hostPath.path;
    return "persistentVolumeClaim" in volume ? this.#claims.pathOf(volume, pod) : undefined;
  }

  #checkRemote(volume: Volume, pod: Pod): void {
    if ("persistentVolumeClaim" in volume) this.#claims.checkDeclared(volume, pod);
  }

  async #setUpAll(volumes: readonly Volume[], pod: Pod, signal: AbortSignal): Promise<void> {
    forEach(volumes, (volume) => this.#checkRemote(volume, pod));
    await Promise.all(volumes.map((volume) => this.#remote.setUp(volume, pod, signal)));
  }

  #hostPathsOf(pod: Pod): HostPathHost {
    return { ...this.#options, judge: this.#options.hostPathError?.(pod) };
  }
}

/** Runs for every volume, also after failures; throws an AgentError that names each volume that is not ready. */
function forEach(volumes: readonly Volume[], run: (volume: Volume) => void): void {
  const problems: AgentError[] = [];
  for (const volume of volumes) {
    try {
      run(volume);
    } catch (cause) {
      problems.push(problemOf(volume, cause));
    }
  }
  // Waiting for a missing object has precedence over a failed mount.
  const first = problems.find(({ reason }) => reason === CONFIG_ERROR) ?? problems[0];
  if (first === undefined) return;
  const message = problems.map((problem) => problem.message).join("; ");
  throw new AgentError({ reason: first.reason, message, cause: first.cause });
}

/** Keeps the reason of missing objects, any other failure is `FailedMount`; the message names the volume. */
function problemOf(volume: Volume, cause: unknown): AgentError {
  const reason = reasonOf(cause, "FailedMount") === CONFIG_ERROR ? CONFIG_ERROR : "FailedMount";
  const message = `volume "${volume.name}": ${messageOf(cause)}`;
  return new AgentError({ reason, message, cause });
}
