// Performs: cleans up the host after a pod: its volumes, its cgroup, and its logs, of which a replaced pod's stay for
// diagnosis (replaced-logs.ts).

import type { DesiredPod, Removal } from "../api/pod/desired-pod.ts";
import { parsePodLogDirectory, podLogDirectory, REPLACED_MARK } from "../api/pod/log-paths.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { StatusManager } from "../status/status-manager.ts";
import type { Volumes } from "../volume/volume-manager.ts";
import { COMPRESSED, logDirectory } from "../runtime/logs/rotated-logs.ts";
import type { Files } from "../host/files.ts";
import { nameOf, type PodIdentity } from "./plan-workers.ts";
import { RETAINED_BYTES, trimPlan, type LogFile } from "./replaced-logs.ts";

export interface PodCleanupOptions {
  readonly files: Files;
  readonly podLogsDir: string;
  readonly volumes: Pick<Volumes, "tearDown">;
  readonly cgroups: { removeCgroup(uid: PodUID): void };
  readonly statuses: Pick<StatusManager, "get">;
}

export class PodCleanup {
  readonly #options: PodCleanupOptions;

  constructor(options: PodCleanupOptions) {
    this.#options = options;
  }

  /** Harmless to repeat. A replaced pod's logs stay until the next replacement or until the name is deleted. */
  cleanUp(removal: Removal): void {
    const { files, volumes, cgroups } = this.#options;
    volumes.tearDown(removal.uid);
    cgroups.removeCgroup(removal.uid);
    const own = this.#directory(removal);
    const retained = this.#retained((pod) => nameOf(pod) === nameOf(removal));
    for (const other of retained) if (other !== own) files.removeTree(other);
    if (removal.why === "Deleted") {
      files.removeTree(own);
      return;
    }
    if (files.info(own)?.kind !== "directory") return;
    this.#trim(own);
    files.writeAtomic(`${own}/${REPLACED_MARK}`, this.#lastStatus(removal.uid), 0o600);
  }

  /** Spec and last status as JSON, to find out why a replaced pod failed. */
  #lastStatus(uid: PodUID): string {
    const entry = this.#options.statuses.get(uid);
    if (entry === undefined) return "{}\n";
    return `${JSON.stringify({ ...entry.pod, status: entry.status }, null, 2)}\n`;
  }

  /** Retained logs whose name is unused: its removal, which deletes them, was missed. */
  leftovers(isUsed: (name: string) => boolean): readonly string[] {
    return this.#retained((pod) => !isUsed(nameOf(pod)));
  }

  /** One of `leftovers`. */
  removeLeftover(directory: string): void {
    this.#options.files.removeTree(directory);
  }

  /**
   * What lies outside of the pod's directory in stateDir, of a pod that went while no agent saw it. The logs of a replaced
   * pod stay (`leftovers`).
   */
  removeOrphan(uid: PodUID): void {
    this.#options.cgroups.removeCgroup(uid);
    for (const directory of this.#directories((pod) => pod.uid === uid))
      if (!this.#isRetained(directory)) this.#options.files.removeTree(directory);
  }

  /** Retained logs of the same UID are of an earlier run: their attempt numbers must not count. */
  beginLife({ uid, pod }: DesiredPod): void {
    const own = this.#directory({ ...pod.metadata, uid });
    if (this.#isRetained(own)) this.#options.files.removeTree(own);
  }

  #directory({ namespace, name, uid }: PodIdentity): string {
    return podLogDirectory(this.#options.podLogsDir, { namespace, name, uid });
  }

  #isRetained(directory: string): boolean {
    return this.#options.files.info(`${directory}/${REPLACED_MARK}`) !== undefined;
  }

  #retained(isMeant: (pod: PodIdentity) => boolean): readonly string[] {
    return this.#directories(isMeant).filter((directory) => this.#isRetained(directory));
  }

  #directories(isMeant: (pod: PodIdentity) => boolean): readonly string[] {
    const { files, podLogsDir } = this.#options;
    if (files.info(podLogsDir)?.kind !== "directory") return [];
    return files
      .list(podLogsDir)
      .filter(({ kind }) => kind === "directory")
      .flatMap(({ name }) => parsePodLogDirectory(name) ?? [])
      .filter(isMeant)
      .map((pod) => this.#directory(pod));
  }

  #trim(directory: string): void {
    const { files } = this.#options;
    const logs = this.#logsUnder(directory);
    for (const step of trimPlan(logs, RETAINED_BYTES)) {
      if (step.keepBytes === 0) files.remove(step.path);
      else files.writeAtomic(step.path, files.tail(step.path, step.keepBytes), 0o640);
    }
  }

  #logsUnder(directory: string): readonly LogFile[] {
    const { files } = this.#options;
    const containers = files.list(directory).filter(({ kind }) => kind === "directory");
    return containers.flatMap(({ name }) => logFiles(`${directory}/${name}`, files));
  }
}

/** Files of other names count as the oldest. */
function logFiles(directory: string, files: Files): readonly LogFile[] {
  const entries = files.list(directory).filter(({ kind }) => kind === "file");
  return entries.map(({ name, size }) => {
    const log = /^\d{1,9}\.log/.exec(name)?.[0] ?? name;
    const { rotated } = logDirectory(log, entries);
    const index = rotated.findIndex((one) => one.name === name);
    return {
      path: `${directory}/${name}`,
      size,
      attempt: Number.parseInt(name, 10) || 0,
      rotations: index < 0 ? 0 : rotated.length - index,
      isCompressed: name.endsWith(COMPRESSED),
    };
  });
}
