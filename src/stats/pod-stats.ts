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
}

export class PodStats {
  readonly #options: PodStatsOptions;

  constructor(options: PodStatsOptions) {
    this.#options = options;
  }

  /** By UID. What cannot be measured counts as unknown, or as nothing on disk. Rejects when `signal` aborts. */
  async measure(
    pods: readonly DesiredPod[],
    { disk }: Measuring,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodUsage>> {
    const byPod = Map.groupBy(await this.#containers(signal), (one) => label(one, "podUID"));
    const usages = new Map<string, PodUsage>();
    for (const desired of pods) {
      signal.throwIfAborted();
      const usage = await this.#pod(desired, byPod.get(desired.uid) ?? [], { disk, signal });
      usages.set(desired.uid, usage);
    }
    return usages;
  }

  async #containers(signal: AbortSignal): Promise<readonly ContainerStats[]> {
    const { cri, log } = this.#options.edges;
    try {
      return await cri.listContainerStats({}, { signal });
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
    { disk, signal }: Measuring & { readonly signal: AbortSignal },
  ): Promise<PodUsage> {
    const { edges, config, cgroupOf } = this.#options;
    const { pod, uid } = desired;
    const { memoryBytes: cgroupMemoryBytes, pids } = edges.readings.podUse(cgroupOf(desired));
    const logs = podLogDirectory(config.podLogsDir, { ...pod.metadata, uid });
    const containers: ContainerUsage[] = [];
    for (const { name } of allContainers(pod.spec)) {
      const own = stats.find((one) => label(one, "containerName") === name);
      containers.push({
        name,
        memoryBytes: amount(own?.memory?.workingSetBytes),
        writableLayer: layerOf(own),
        logs: disk ? await this.#tree(`${logs}/${name}`, desired, signal) : NO_USAGE,
      });
    }
    const emptyDirs = new Map<string, TreeUsage>();
    const volumes = pod.spec.volumes.filter((one) => disk && isOnDisk(one));
    const parent = `${podDirectory(config.stateDir, uid)}/volumes/kubernetes.io~empty-dir`;
    for (const { name } of volumes)
      emptyDirs.set(name, await this.#tree(`${parent}/${name}`, desired, signal));
    return { containers, emptyDirs, cgroupMemoryBytes, pids };
  }

  async #tree(path: string, { pod }: DesiredPod, signal: AbortSignal): Promise<TreeUsage> {
    const { files, clock, log } = this.#options.edges;
    try {
      const walk = files.treeUsage(path);
      for (;;) {
        const step = walk.next();
        if (step.done === true) return step.value;
        await clock.sleep(0, signal);
        if (signal.aborted) walk.return(NO_USAGE);
        signal.throwIfAborted();
      }
    } catch (error) {
      signal.throwIfAborted();
      const about = { pod: podName(pod), path, error: messageOf(error) };
      log.debug("cannot measure a directory", about);
      return NO_USAGE;
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
