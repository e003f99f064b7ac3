// Performs: lists the logs of this agent's pods, dead containers' and replaced pods' too.

import { parsePodLogDirectory, podLogDirectory, REPLACED_MARK } from "../../api/pod/log-paths.ts";
import type { ObservedContainer, ObservedPod } from "../../api/pod/observed-pod.ts";
import type { PodUID } from "../../api/v1/pod.ts";
import type { FileInfo, Files } from "../../host/files.ts";
import type { ContainerLogs, CountedLog, PodLogs } from "./log-caps.ts";
import type { LogPlace } from "./rotate-log.ts";
import { logDirectory } from "./rotated-logs.ts";

export interface CountLogsOptions {
  readonly files: Pick<Files, "info" | "list">;
  readonly podLogsDir: string;
  readonly observed: (uid: PodUID) => ObservedPod | undefined;
  /** Whether the log of this container (by id) is being rotated, or was a moment ago; absent = none is. */
  readonly isInHand?: (id: string) => boolean;
}

const LOG = /^(\d{1,9})\.log/;

/** Directories of pods that neither run here nor were replaced here belong to others, and are left out. */
export function countLogs(options: CountLogsOptions): readonly PodLogs[] {
  const { files, podLogsDir, observed, isInHand = () => false } = options;
  if (files.info(podLogsDir)?.kind !== "directory") return [];
  return directories(files, podLogsDir).flatMap((name) => {
    const identity = parsePodLogDirectory(name);
    if (identity === undefined) return [];
    const root = podLogDirectory(podLogsDir, identity);
    const pod = observed(identity.uid);
    const isReplaced = files.info(`${root}/${REPLACED_MARK}`) !== undefined;
    if (pod === undefined && !isReplaced) return [];
    const title = `${identity.namespace}/${identity.name}`;
    const containers = directories(files, root).map((container) =>
      logsOf(files.list(`${root}/${container}`), {
        pod: title,
        container,
        directory: `${root}/${container}`,
        instances: pod?.containers.filter((one) => one.name === container) ?? [],
        isReplaced,
        isInHand,
      }),
    );
    return [{ pod: title, containers }];
  });
}

function directories(files: Pick<Files, "list">, path: string): readonly string[] {
  return files
    .list(path)
    .filter(({ kind }) => kind === "directory")
    .map(({ name }) => name);
}

interface Place extends Omit<LogPlace, "id" | "log"> {
  /** Highest attempt first. */
  readonly instances: readonly ObservedContainer[];
  readonly isReplaced: boolean;
  readonly isInHand: (id: string) => boolean;
}

function logsOf(entries: readonly FileInfo[], place: Place): ContainerLogs {
  const attempts = new Set(entries.flatMap(({ name }) => LOG.exec(name)?.[1] ?? []).map(Number));
  const ordered = [...attempts].toSorted((a, b) => a - b);
  return { logs: ordered.flatMap((attempt) => logsOfAttempt(entries, place, attempt)) };
}

function logsOfAttempt(
  entries: readonly FileInfo[],
  { instances, isReplaced, isInHand, pod, container, directory }: Place,
  attempt: number,
): readonly CountedLog[] {
  const log = `${attempt}.log`;
  const instance = instances.find((one) => one.attempt === attempt);
  // One that was made just now may not have been observed yet.
  const isNew = attempt > (instances[0]?.attempt ?? -1);
  const isLive = instance === undefined ? isNew && !isReplaced : instance.state !== "Exited";
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const counted = (name: string, isCompressed: boolean): readonly CountedLog[] => {
    const entry = byName.get(name);
    if (entry?.kind !== "file") return [];
    const path = `${directory}/${name}`;
    return [{ path, size: entry.size, isCompressed, isWritten: false }];
  };
  const { rotated } = logDirectory(log, entries);
  const old = rotated.flatMap(({ name, isCompressed }) => counted(name, isCompressed));
  const all = [...old, ...counted(log, false)];
  const newest = all.at(-1);
  if (newest === undefined || !isLive) return all;
  const isRunning = instance?.state === "Running" && newest.path === `${directory}/${log}`;
  const own = isRunning ? { place: { id: instance.id, pod, container, directory, log } } : {};
  // Where a rotation was interrupted, the runtime still writes to the newest rotated one; it also does so for a moment after
  // it has opened the new log.
  const written = instance !== undefined && isInHand(instance.id) ? 2 : 1;
  const late = all.slice(-written, -1).map((one) => ({ ...one, isWritten: true }));
  return [...all.slice(0, -written), ...late, { ...newest, isWritten: true, ...own }];
}
