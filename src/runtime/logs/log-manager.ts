// Performs: keeps the logs of containers within their limits: rotates what has grown, and removes the oldest when all of
// them take too much. kubelet: containerLogManager

import { containerLogPath, podLogDirectory } from "../../api/pod/log-paths.ts";
import type { ObservedContainer, ObservedPod } from "../../api/pod/observed-pod.ts";
import type { PodUID } from "../../api/v1/pod.ts";
import type { Edges } from "../../edges.ts";
import { type BackoffEntry, nextBackoff, retryAt } from "../../lib/backoff.ts";
import { Limiter } from "../../lib/concurrency-limit.ts";
import { messageOf } from "../../lib/errors.ts";
import { countLogs } from "./count-logs.ts";
import { type CapStep, type LogLimits, planCaps, slack } from "./log-caps.ts";
import { growth, type LogLook, timeToFill } from "./log-watch.ts";
import { type LogPlace, LogRotator } from "./rotate-log.ts";

export interface LogManagerOptions extends Pick<
  Edges,
  "clock" | "log" | "files" | "cri" | "compressFile"
> {
  readonly podLogsDir: string;
  /** Bytes. */
  readonly maxSize: number;
  readonly maxFiles: number;
  readonly workers: number;
  readonly intervalMs: number;
  readonly limits: LogLimits;
  readonly observed: () => ReadonlyMap<PodUID, ObservedPod>;
  /** Every source has synced: nothing is rotated or removed before. */
  readonly isSettled: () => boolean;
}

const SOONEST_MS = 1000;
/** So long after it has opened the new log the runtime may write to the old one: what it had in hand. */
const LATE_MS = 1000;
/** Logs of containers that came and went between two looks are counted then. */
const COUNT_MS = 600_000;
const BACKOFF = { initial: 10_000, max: 300_000, resetAfter: 600_000 };
const NEWLINE = 0x0a;

/** What is known of one running container's log. */
interface Watched {
  readonly look?: LogLook;
  readonly failure?: BackoffEntry;
}

export class LogManager {
  readonly #options: LogManagerOptions;
  readonly #rotator: LogRotator;
  readonly #limiter: Limiter;
  /** By container id. */
  #watched = new Map<string, Watched>();
  readonly #inHand = new Map<string, Promise<void>>();
  /** Bytes that may be written before all logs are counted again. */
  #slack = 0;
  #countAt = 0;

  constructor(options: LogManagerOptions) {
    this.#options = options;
    this.#rotator = new LogRotator(options);
    this.#limiter = new Limiter(options.workers);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs, isSettled } = this.#options;
    for (let wait = intervalMs; !signal.aborted;) {
      await clock.sleep(wait, signal);
      if (signal.aborted) break;
      wait = isSettled() ? this.#turn(signal) : intervalMs;
    }
    await Promise.all(this.#inHand.values());
  }

  /** Returns when to look again, in ms. */
  #turn(signal: AbortSignal): number {
    const { clock, intervalMs } = this.#options;
    let soonest = intervalMs;
    const watched = new Map<string, Watched>();
    for (const [container, place] of this.#running()) {
      const before = this.#watched.get(container.id);
      const { fillsIn, ...seen } = this.#look(place, before, signal);
      watched.set(container.id, seen);
      soonest = Math.min(soonest, fillsIn);
    }
    this.#watched = watched;
    if (this.#slack <= 0 || clock.monotonic() >= this.#countAt) this.#keepLimits(signal);
    return Math.max(SOONEST_MS, Math.ceil(soonest));
  }

  *#running(): Generator<readonly [ObservedContainer, LogPlace]> {
    const { observed, podLogsDir } = this.#options;
    for (const pod of observed().values())
      for (const container of pod.containers) {
        if (container.state !== "Running") continue;
        yield [container, placeOf(podLogDirectory(podLogsDir, pod), pod, container)];
      }
  }

  #look(
    place: LogPlace,
    before: Watched | undefined,
    signal: AbortSignal,
  ): Watched & { readonly fillsIn: number } {
    const { clock, files, maxSize } = this.#options;
    const info = files.info(`${place.directory}/${place.log}`);
    const at = clock.monotonic();
    if (info === undefined) {
      if (at >= retryAt(before?.failure))
        this.#begin(place, () => this.#rotator.reopen(place, signal), signal);
      return { ...before, fillsIn: Number.POSITIVE_INFINITY };
    }
    const look = { at, size: info.size, identity: info.identity };
    this.#slack -= growth(before?.look, look);
    if (info.size >= maxSize && at >= retryAt(before?.failure)) this.#rotate(place, signal);
    const fillsIn = info.size >= maxSize ? Infinity : timeToFill(before?.look, look, maxSize);
    return { ...before, look, fillsIn };
  }

  #rotate(place: LogPlace, signal: AbortSignal): void {
    this.#begin(place, () => this.#rotator.rotate(place, signal), signal);
  }

  /** One thing at a time for each container. */
  #begin(place: LogPlace, work: () => Promise<void>, signal: AbortSignal): void {
    const { id } = place;
    if (this.#inHand.has(id)) return;
    const done = this.#limiter
      .run(async () => {
        if (!signal.aborted) await work();
      })
      .catch((error: unknown) => this.#failed(place, error, signal))
      .then(() => this.#options.clock.sleep(LATE_MS, signal))
      .finally(() => this.#inHand.delete(id));
    this.#inHand.set(id, done);
  }

  #failed({ id, pod, container }: LogPlace, error: unknown, signal: AbortSignal): void {
    const { clock, log } = this.#options;
    if (signal.aborted) return;
    const before = this.#watched.get(id);
    const failure = nextBackoff(before?.failure, clock.monotonic(), BACKOFF);
    this.#watched.set(id, { ...before, failure });
    log.warn("cannot rotate a log", { pod, container, id, error: messageOf(error) });
  }

  #keepLimits(signal: AbortSignal): void {
    const { clock, files, limits, log, observed, podLogsDir } = this.#options;
    const isInHand = (id: string): boolean => this.#inHand.has(id);
    const count = { files, podLogsDir, observed: (uid: PodUID) => observed().get(uid), isInHand };
    try {
      this.#restoreEnded();
      const counted = countLogs(count);
      for (const step of planCaps(counted, limits)) this.#perform(step, signal);
      this.#slack = slack(countLogs(count), limits);
    } catch (error) {
      log.warn("cannot keep the logs within their limit", { error: messageOf(error) });
    }
    this.#countAt = clock.monotonic() + COUNT_MS;
  }

  #perform(step: CapStep, signal: AbortSignal): void {
    const { files, log } = this.#options;
    const { type, pod } = step;
    if (type === "RotateLog") return this.#rotate(step.place, signal);
    log.info(type, { pod, path: step.path, reason: "logs take more than they may" });
    if (type === "RemoveLog") return files.remove(step.path);
    const info = files.info(step.path);
    const end = files.tail(step.path, step.keepBytes);
    files.writeAtomic(step.path, end.subarray(end.indexOf(NEWLINE) + 1), info?.mode ?? 0o640);
  }

  /** A container may have ended while a rotation was interrupted: its last lines are in a rotated log. */
  #restoreEnded(): void {
    const { observed, podLogsDir } = this.#options;
    for (const pod of observed().values())
      for (const container of pod.containers)
        if (container.state === "Exited")
          this.#rotator.restore(placeOf(podLogDirectory(podLogsDir, pod), pod, container));
  }
}

function placeOf(
  root: string,
  { namespace, name }: ObservedPod,
  { id, name: container, attempt }: ObservedContainer,
): LogPlace {
  const [directory, log] = containerLogPath(container, attempt).split("/");
  return {
    id,
    pod: `${namespace}/${name}`,
    container,
    directory: `${root}/${directory}`,
    log: log ?? "",
  };
}
