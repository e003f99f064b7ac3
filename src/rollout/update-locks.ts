// Performs: reads the locks of applications: a file in a volume of the pod that keeps it from being updated (annotation
// agent/update-lock). It counts while the container that made it runs, for a limited time.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { newestContainer } from "../api/pod/newest-observed.ts";
import { allContainers, podName, type PodUID } from "../api/v1/pod.ts";
import { lockVolumeOf } from "../api/pod/update-annotations.ts";
import type { Files } from "../host/files.ts";
import type { Clock, Monotonic } from "../lib/clock.ts";
import type { PodCache } from "../pleg/pod-cache.ts";
import { emptyDirPath } from "../volume/volume-directory.ts";

export interface UpdateLocksOptions {
  readonly clock: Clock;
  readonly files: Pick<Files, "info">;
  readonly stateDir: string;
  readonly pods: { readonly cache: Pick<PodCache, "get"> };
}

export interface UpdateLock {
  readonly container: string;
  readonly ageMs: number;
}

/** A lock file as it was seen first. */
interface Known {
  readonly path: string;
  /** Another file, or the same one touched again, is another lock. */
  readonly identity: string;
  readonly mtimeMs: number;
  readonly containerId: string;
  readonly seenAt: Monotonic;
}

/** Tolerance between two readings of one clock. */
const SLACK_MS = 2_000;

export class UpdateLocks {
  readonly #options: UpdateLocksOptions;
  /** By pod and container name: pods come and go, their names stay. */
  readonly #known = new Map<string, Known>();

  constructor(options: UpdateLocksOptions) {
    this.#options = options;
  }

  /** The oldest lock that counts of the pod that runs; undefined = it may be updated. */
  of({ uid, pod }: DesiredPod, maxSeconds: number): UpdateLock | undefined {
    const volume = lockVolumeOf(pod);
    if (volume === undefined) return undefined;
    const directory = emptyDirPath(this.#options.stateDir, uid, volume);
    const locks = allContainers(pod.spec).flatMap(
      ({ name }) =>
        this.#lockOf({ uid, name, path: `${directory}/${name}`, key: `${podName(pod)} ${name}` }) ??
        [],
    );
    const counting = locks.filter(({ ageMs }) => ageMs < maxSeconds * 1000);
    return counting.toSorted((a, b) => b.ageMs - a.ageMs)[0];
  }

  #lockOf(place: {
    readonly uid: PodUID;
    readonly name: string;
    readonly path: string;
    readonly key: string;
  }): UpdateLock | undefined {
    const { clock, files, pods } = this.#options;
    const { uid, name, path, key } = place;
    const file = files.info(path);
    const container = newestContainer(pods.cache.get(uid), name);
    if (file?.kind !== "file" || container?.state !== "Running") {
      if (file === undefined) this.#known.delete(key);
      return undefined;
    }
    const { identity, mtimeMs } = file;
    const before = this.#known.get(key);
    const isKnown =
      before?.path === path && before.identity === identity && before.mtimeMs === mtimeMs;
    // An earlier instance of the container left it behind.
    if (isKnown && before.containerId !== container.id) return undefined;
    if (!isKnown && this.#isOlder(mtimeMs, container.createdAt)) return undefined;
    const now = clock.monotonic();
    const seenAt = isKnown ? before.seenAt : now;
    this.#known.set(key, { path, identity, mtimeMs, containerId: container.id, seenAt });
    // From when it was first seen: a wall clock that was set since makes any file look old.
    return { container: name, ageMs: now - seenAt };
  }

  /**
   * What a container left behind is older than the next one, which is made only then and needs longer to run than a file
   * system's time is coarse. A clock that was ahead then proves nothing now.
   */
  #isOlder(mtimeMs: number, createdAt: number): boolean {
    const isPlausible = createdAt <= this.#options.clock.now() + SLACK_MS;
    return isPlausible && mtimeMs < createdAt;
  }
}
