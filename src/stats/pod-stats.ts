// Performs: measures what pods use: one call to the runtime for all of them, and walks through their directories in steps,
// between which the event loop turns. Nothing is measured until a caller asks.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { LABEL } from "../api/pod/labels.ts";
import { podLogDirectory } from "../api/pod/log-paths.ts";
import { podDirectory } from "../api/pod/pod-directory.ts";
import { allContainers, podName } from "../api/v1/pod.ts";
import type { Volume } from "../api/v1/volumes.ts";
import type { ContainerStats } from "../cri/gen/runtime/v1/api_pb.ts";
import type { Edges } from "../edges.ts";
import type { TreeUsage } from "../host/tree/walk-tree.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { NO_USAGE, type ContainerUsage, type PodUsage } from "./pod-usage.ts";

export interface PodStatsOptions {
  readonly edges: Pick<Edges, "cri" | "files" | "clock" | "log" | "readings">;
  readonly config: { readonly stateDir: string; readonly podLogsDir: string };
  /** The pod's own cgroup, from the root of the tree. */
  readonly cgroupOf: (desired: DesiredPod) => string;
}

/** What has to be measured; disks are walked only if they matter. */
export interface Measuring {
  readonly disk: boolean;
  /** Most milliseconds for the directories of one pod, after which what has been counted stands; absent = no limit. */
  readonly podMs?: number;
}

/** A runtime that answers no sooner counts as one that knows nothing: cgroups are read instead. */
const RUNTIME_MS = 10_000;
/** A pod may move directories while they are measured, which ends a walk. */
const WALKS = 3;

interface Walk {
  readonly desired: DesiredPod;
  readonly until: Monotonic;
  readonly signal: AbortSignal;
}

export class PodStats {
  readonly #options: PodStatsOptions;

  constructor(options: PodStatsOptions) {
    this.#options = options;
  }

  /** By UID. What cannot be measured counts as unknown, or as nothing on disk. Rejects when `signal` aborts. */
  async measure(
    pods: readonly DesiredPod[],
    asked: Measuring,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodUsage>> {
    const byPod = Map.groupBy(await this.#containers(signal), (one) => label(one, "podUID"));
    const usages = new Map<string, PodUsage>();
    for (const desired of pods) {
      signal.throwIfAborted();
      const usage = await this.#pod(desired, byPod.get(desired.uid) ?? [], { ...asked, signal });
      usages.set(desired.uid, usage);
    }
    return usages;
  }

  async #containers(signal: AbortSignal): Promise<readonly ContainerStats[]> {
    const { cri, log } = this.#options.edges;
    try {
      return await cri.listContainerStats({}, { signal, timeoutMs: RUNTIME_MS });
    } catch (error) {
      signal.throwIfAborted();
      log.warn("cannot read the statistics of containers; cgroups are read instead", {
        error: messageOf(error),
      });
      return [];
    }
  }

  async #pod(
    desired: DesiredPod,
    stats: readonly ContainerStats[],
    {
      disk,
      podMs = Number.POSITIVE_INFINITY,
      signal,
    }: Measuring & { readonly signal: AbortSignal },
  ): Promise<PodUsage> {
    const { edges, config, cgroupOf } = this.#options;
    const { pod, uid } = desired;
    const walk: Walk = { desired, until: edges.clock.monotonic() + podMs, signal };
    const { memoryBytes: cgroupMemoryBytes, pids } = edges.readings.podUse(cgroupOf(desired));
    const logs = podLogDirectory(config.podLogsDir, { ...pod.metadata, uid });
    const containers: ContainerUsage[] = [];
    for (const { name } of allContainers(pod.spec)) {
      const own = stats.find((one) => label(one, "containerName") === name);
      containers.push({
        name,
        memoryBytes: amount(own?.memory?.workingSetBytes),
        writableLayer: layerOf(own),
        logs: disk ? await this.#tree(`${logs}/${name}`, walk) : NO_USAGE,
      });
    }
    const emptyDirs = new Map<string, TreeUsage>();
    const volumes = pod.spec.volumes.filter((one) => disk && isOnDisk(one));
    const parent = `${podDirectory(config.stateDir, uid)}/volumes/kubernetes.io~empty-dir`;
    for (const { name } of volumes)
      emptyDirs.set(name, await this.#tree(`${parent}/${name}`, walk));
    return { containers, emptyDirs, cgroupMemoryBytes, pids };
  }

  /** Of a tree that cannot be walked to its end, the most that was counted. */
  async #tree(path: string, walk: Walk): Promise<TreeUsage> {
    const { log } = this.#options.edges;
    let most = NO_USAGE;
    const onStep = (counted: TreeUsage): void => {
      most = {
        bytes: Math.max(most.bytes, counted.bytes),
        inodes: Math.max(most.inodes, counted.inodes),
      };
    };
    for (let walks = 0; walks < WALKS; walks += 1) {
      try {
        return (await this.#walk(path, walk, onStep)) ?? most;
      } catch (error) {
        walk.signal.throwIfAborted();
        const about = { pod: podName(walk.desired.pod), path, error: messageOf(error) };
        log.debug("cannot measure a directory", about);
      }
    }
    return most;
  }

  /** undefined = the time is over. */
  async #walk(
    path: string,
    { until, signal }: Walk,
    onStep: (counted: TreeUsage) => void,
  ): Promise<TreeUsage | undefined> {
    const { files, clock } = this.#options.edges;
    const walk = files.treeUsage(path);
    for (;;) {
      const step = walk.next();
      if (step.done === true) return step.value;
      onStep(step.value);
      await clock.sleep(0, signal);
      const isOver = clock.monotonic() > until;
      if (signal.aborted || isOver) walk.return(NO_USAGE);
      signal.throwIfAborted();
      if (isOver) return undefined;
    }
  }
}

function isOnDisk(volume: Volume): boolean {
  return "emptyDir" in volume && volume.emptyDir.medium === "";
}

function label({ attributes }: ContainerStats, name: "podUID" | "containerName"): string {
  return attributes?.labels[LABEL[name]] ?? "";
}

function layerOf(stats: ContainerStats | undefined): TreeUsage {
  const { usedBytes, inodesUsed } = stats?.writableLayer ?? {};
  return { bytes: amount(usedBytes) ?? 0, inodes: amount(inodesUsed) ?? 0 };
}

function amount(value: { readonly value: bigint } | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.value);
}
