// Performs: rotates one container's log: rename, ReopenContainerLog, compress, and what a failure in between needs.
// kubelet: rotateLog

import type { Edges } from "../../edges.ts";
import { CriError } from "../../cri/cri-error.ts";
import { AgentError, messageOf } from "../../lib/errors.ts";
import { COMPRESSED, logDirectory, planRotation } from "./rotated-logs.ts";

/** The log of one container instance. */
export interface LogPlace {
  /** Of the container. */
  readonly id: string;
  /** `namespace/name` of the pod. */
  readonly pod: string;
  readonly container: string;
  readonly directory: string;
  /** In the directory: `3.log`. */
  readonly log: string;
}

export type LogRotatorOptions = Pick<Edges, "clock" | "log" | "files" | "cri" | "compressFile"> & {
  /** Most files of one instance. */
  readonly maxFiles: number;
};

/** The runtime only opens a file. */
const REOPEN_MS = 10_000;

export class LogRotator {
  readonly #options: LogRotatorOptions;

  constructor(options: LogRotatorOptions) {
    this.#options = options;
  }

  /** Rejects when the runtime keeps writing to the old file, which then has its name again unless that is unknown. */
  async rotate(place: LogPlace, signal: AbortSignal): Promise<void> {
    const { clock, files, log, maxFiles } = this.#options;
    const { pod, container, directory } = place;
    const found = logDirectory(place.log, files.list(directory));
    const plan = planRotation(place.log, found, { maxFiles, now: clock.now() });
    for (const name of plan.remove) files.remove(`${directory}/${name}`);
    log.debug("RotateLog", { pod, container, log: place.log, to: plan.rotateTo });
    files.rename(`${directory}/${place.log}`, `${directory}/${plan.rotateTo}`);
    await this.reopen(place, signal);
    for (const name of plan.compress) await this.#compress(place, name, signal);
  }

  /** The runtime writes to `<n>.log` afterwards. Rejects with AgentError. */
  async reopen(place: LogPlace, signal: AbortSignal): Promise<void> {
    const { cri, files } = this.#options;
    const path = `${place.directory}/${place.log}`;
    try {
      await cri.reopenContainerLog(place.id, { signal, timeoutMs: REOPEN_MS });
    } catch (error) {
      // Without an answer it may have opened the new file, or do so later: the next look at the log shows it.
      if (!(error instanceof CriError) || error.outcome === "refused") this.restore(place);
      throw error;
    }
    if (files.info(path) !== undefined) return;
    const message = `the runtime has reopened the log of ${place.id} and there is no ${path}; was podLogsDir changed?`;
    throw new AgentError({ reason: "LogNotReopened", message });
  }

  /** Gives the newest rotated log its name back if no file has it: the container has written nothing after it. */
  restore({ directory, log }: LogPlace): void {
    const { files } = this.#options;
    if (files.info(`${directory}/${log}`) !== undefined) return;
    if (files.info(directory)?.kind !== "directory") return;
    const newest = logDirectory(log, files.list(directory)).rotated.at(-1);
    if (newest === undefined || newest.isCompressed) return;
    files.rename(`${directory}/${newest.name}`, `${directory}/${log}`);
  }

  /** One that cannot be compressed stays as it is; the next rotation tries again. */
  async #compress({ pod, directory }: LogPlace, name: string, signal: AbortSignal): Promise<void> {
    const { compressFile, files, log } = this.#options;
    const path = `${directory}/${name}`;
    if (signal.aborted || files.info(path) === undefined) return;
    try {
      await compressFile(path, path + COMPRESSED, signal);
      files.remove(path);
    } catch (error) {
      if (!signal.aborted) log.warn("cannot compress a log", { pod, error: messageOf(error) });
    }
  }
}
