// Performs: reads the lock by which a running application keeps its pod from being updated: a file in a volume of the pod
// (annotation agent/update-lock), for at most `maxLockSeconds`.

import type { Monotonic, Clock } from "../lib/clock.ts";
import type { Files } from "../host/files.ts";
import type { PodCache } from "../pleg/pod-cache.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { lockVolumeOf } from "../api/pod/update-annotations.ts";
import { emptyDirPath } from "../volume/volume-paths.ts";
import { allContainers, type Pod, podName } from "../api/v1/pod.ts";
import { newestContainer } from "../api/pod/observed-pod.ts";

/** How often a lock file is looked for. */
export const LOOK_AGAIN_MS = 5_000;
const MINUTE_MS = 60_000;
/** An age is reported in coarse steps: every change of it is a message to the broker. */
const STEPS = [1, 2, 5, 10, 20, 30];

interface UpdateLock {
  readonly container: string;
  readonly ageMs: number;
}

/** A lock file as it was seen first. */
interface KnownLock {
  readonly path: string;
  /** Another file, or the same one touched again, is another lock. */
  readonly identity: string;
  readonly mtimeMs: number;
  readonly containerId: string;
  readonly seenAt: Monotonic;
}

/** Tolerance between two readings of one clock. */
const SLACK_MS = 2_000;

export interface UpdateLocksOptions {
  readonly clock: Clock;
  readonly files: Pick<Files, "info">;
  readonly stateDir: string;
  readonly pods: { readonly cache: Pick<PodCache, "get"> };
}

export class UpdateLocks {
  readonly #options: UpdateLocksOptions;
  /** By pod and container name: pods come and go, their names stay. */
  readonly #locks = new Map<string, KnownLock>();

  constructor(options: UpdateLocksOptions) {
    this.#options = options;
  }

  /** Why the running pod may not be updated; undefined = it may. */
  locked(running: DesiredPod, maxSeconds: number): string | undefined {
    const lock = this.#oldestLock(running, maxSeconds);
    if (lock === undefined) return undefined;
    return `locked by container ${lock.container} for ${ageOf(lock.ageMs)}`;
  }

  /**
   * The oldest lock that counts of the pod that runs; undefined = it may be updated. A lock is a file in a volume of the pod
   * (annotation agent/update-lock). It counts while the container that made it runs, for a limited time.
   */
  #oldestLock({ uid, pod }: DesiredPod, maxSeconds: number): UpdateLock | undefined {
    const volume = lockVolumeOf(pod);
    if (volume === undefined) return undefined;
    const directory = emptyDirPath(this.#options.stateDir, uid, volume);
    const locks = allContainers(pod.spec).flatMap(
      ({ name }) => this.#lockOf(pod, name, `${directory}/${name}`) ?? [],
    );
    const counting = locks.filter(({ ageMs }) => ageMs < maxSeconds * 1000);
    return counting.toSorted((a, b) => b.ageMs - a.ageMs)[0];
  }

  #lockOf(pod: Pod, name: string, path: string): UpdateLock | undefined {
    const { clock, files, pods } = this.#options;
    const key = `${podName(pod)} ${name}`;
    const file = files.info(path);
    const container = newestContainer(pods.cache.get(pod.metadata.uid), name);
    if (file?.kind !== "file" || container?.state !== "Running") {
      if (file === undefined) this.#locks.delete(key);
      return undefined;
    }
    const { identity, mtimeMs } = file;
    const before = this.#locks.get(key);
    const isKnown =
      before?.path === path && before.identity === identity && before.mtimeMs === mtimeMs;
    // An earlier instance of the container left it behind.
    if (isKnown && before.containerId !== container.id) return undefined;
    if (!isKnown && this.#isOlder(mtimeMs, container.createdAt)) return undefined;
    const now = clock.monotonic();
    const seenAt = isKnown ? before.seenAt : now;
    this.#locks.set(key, { path, identity, mtimeMs, containerId: container.id, seenAt });
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

function ageOf(ms: number): string {
  const minutes = Math.floor(ms / MINUTE_MS);
  if (minutes < 1) return "less than a minute";
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h`;
  return `${STEPS.findLast((step) => step <= minutes) ?? 1} min`;
}
