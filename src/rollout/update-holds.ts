// Performs: what keeps a pod from being updated: an operator's hold, its own annotation, or a lock of the running
// application.

import { type DesiredPod, manifestPath } from "../api/pod/desired-pod.ts";
import { allContainers, podName, type NamedPod, type Pod } from "../api/v1/pod.ts";
import { holdsUpgrade, lockVolumeOf } from "../api/pod/update-annotations.ts";
import { rfc3339, type Clock, type Monotonic } from "../lib/clock.ts";
import type { WorkerRegistry } from "../podworkers/pods.ts";
import type { SourceSnapshots } from "../source/source-snapshots.ts";
import type { Holds } from "../store/pod-records.ts";
import { newestContainer } from "../api/pod/observed-pod.ts";
import type { Files } from "../host/files.ts";
import type { PodCache } from "../pleg/pod-cache.ts";
import { emptyDirPath } from "../volume/volume-directory.ts";
import type { PodProgress } from "./trial-facts.ts";

interface UpdateHoldsOptions {
  readonly clock: Clock;
  readonly files: Pick<Files, "info">;
  readonly stateDir: string;
  readonly rows: Holds;
  readonly pods: {
    readonly workers: Pick<WorkerRegistry, "shown">;
    readonly cache: Pick<PodCache, "get">;
  };
}

type Hold = Pick<PodProgress, "hold" | "holdReviewAt">;

const NODE = "";
const LOOK_AGAIN_MS = 5_000;
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

export class UpdateHolds {
  readonly #options: UpdateHoldsOptions;
  /** By pod and container name: pods come and go, their names stay. */
  readonly #locks = new Map<string, KnownLock>();

  constructor(options: UpdateHoldsOptions) {
    this.#options = options;
  }

  /** For the pod as its document wants it. */
  of(desired: DesiredPod, maxLockSeconds: number): Hold {
    const { clock, rows, pods } = this.#options;
    const name = podName(desired.pod);
    const ordered = this.#ordered(name);
    if (ordered !== undefined) return { hold: ordered };
    if (holdsUpgrade(desired.pod) && !rows.isReleased(name, desired.uid))
      return { hold: "held by its annotation agent/hold-upgrade; agent release ends it" };
    const runs = pods.workers.shown(name);
    const hold = runs === undefined ? undefined : this.#locked(runs, maxLockSeconds);
    return hold === undefined ? {} : { hold, holdReviewAt: clock.monotonic() + LOOK_AGAIN_MS };
  }

  /** For a running pod that its document no longer names; undefined = nothing holds it. */
  ofRunning(running: DesiredPod, maxLockSeconds: number): string | undefined {
    return this.#ordered(podName(running.pod)) ?? this.#locked(running, maxLockSeconds);
  }

  /** Whether an operator holds it. */
  isOrdered(name: string): boolean {
    return this.#options.rows.since(name) !== undefined;
  }

  /** `name` undefined = the whole node. Throws what the checkpoint throws. */
  hold(name: string | undefined): void {
    this.#options.rows.hold(name ?? NODE, this.#options.clock.now());
  }

  /** `wanted`: as the document has it. Throws what the checkpoint throws. */
  release(name: string | undefined, wanted: DesiredPod | undefined): void {
    const { rows, clock } = this.#options;
    if (name !== undefined && wanted !== undefined && holdsUpgrade(wanted.pod))
      rows.overrule(name, wanted.uid, clock.now());
    else rows.release(name ?? NODE);
  }

  #locked(running: DesiredPod, maxSeconds: number): string | undefined {
    const lock = this.#oldestLock(running, maxSeconds);
    if (lock === undefined) return undefined;
    return `locked by container ${lock.container} for ${ageOf(lock.ageMs)}`;
  }

  #ordered(name: string): string | undefined {
    const { rows } = this.#options;
    const own = rows.since(name);
    if (own !== undefined) return `held since ${rfc3339(own)}; agent release ends it`;
    const all = rows.since(NODE);
    if (all === undefined) return undefined;
    return `all updates of this node are held since ${rfc3339(all)}; agent release --all ends it`;
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

/** What an operator asks for. */
export type HoldVerb = "hold" | "release";

export type HoldOutcome =
  | { readonly type: "Done" }
  | { readonly type: "NotFound" }
  /** Edits of a file take effect at once: they are not held. */
  | { readonly type: "OfFile"; readonly file: string };

interface HoldRequestsOptions {
  readonly holds: Pick<UpdateHolds, "hold" | "release" | "isOrdered">;
  readonly rollouts: { release(name: string): void; names(): readonly string[] };
  readonly written: Pick<SourceSnapshots, "wanted">;
  readonly onChange: () => void;
}

/** Holds and releases that operators ask for, by the local API or by a command from the broker. */
export class HoldRequests {
  readonly #options: HoldRequestsOptions;

  constructor(options: HoldRequestsOptions) {
    this.#options = options;
  }

  /** `pod` undefined = the whole node. A release also gives what has failed another chance. Throws what the checkpoint throws. */
  change(verb: HoldVerb, pod: NamedPod | undefined): HoldOutcome {
    const { holds, rollouts, written, onChange } = this.#options;
    const name = pod === undefined ? undefined : `${pod.namespace}/${pod.name}`;
    const desired = name === undefined ? undefined : written.wanted(name);
    const isOrdered = name !== undefined && verb === "release" && holds.isOrdered(name);
    if (name !== undefined && desired === undefined && !isOrdered) return { type: "NotFound" };
    if (desired !== undefined && !desired.source.startsWith("mqtt:"))
      return { type: "OfFile", file: manifestPath(desired.sourceRef) };
    if (verb === "hold") holds.hold(name);
    else {
      holds.release(name, desired);
      for (const one of name === undefined ? rollouts.names() : [name]) rollouts.release(one);
    }
    onChange();
    return { type: "Done" };
  }
}

/** The message for the local API and for the command alike. */
export function holdRefusal(
  outcome: Exclude<HoldOutcome, { type: "Done" }>,
  pod: NamedPod | undefined,
): string {
  const { namespace, name } = pod ?? { namespace: "", name: "" };
  if (outcome.type === "NotFound") return `pods "${name}" not found in namespace "${namespace}"`;
  return `pod ${namespace}/${name} is declared by ${outcome.file}: edits of a file are not held, and files never roll back`;
}
