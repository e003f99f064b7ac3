// Performs: collects what /stats/summary shows, on request: one call to the runtime and readings of cgroups, shared by
// those who ask within a second; sizes of directories are a minute old at most. kubelet: server/stats

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { LABEL } from "../api/pod/labels.ts";
import type { ObservedContainer, ObservedPod } from "../api/pod/observed-pod.ts";
import { podDirectory } from "../api/pod/pod-directory.ts";
import type { Volume } from "../api/v1/volumes.ts";
import type { ContainerStats } from "../cri/gen/runtime/v1/api_pb.ts";
import type { Edges } from "../edges.ts";
import type { FileSystemRoom } from "../host/resource-readings.ts";
import type { Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { JsonObject } from "../lib/json.ts";
import { NO_USAGE, type PodUsage } from "./pod-usage.ts";
import type { PodStats } from "./pod-stats.ts";
import { CpuRates } from "./cpu-rates.ts";
import { containerUsage } from "./container-usage.ts";
import {
  summary,
  type SummaryContainer,
  type SummaryPod,
  type SummaryVolume,
  type Usage,
} from "./summary.ts";

export interface NodeSummaryOptions {
  readonly edges: Pick<Edges, "clock" | "cri" | "files" | "log" | "readings" | "counters">;
  readonly config: { readonly stateDir: string };
  readonly nodeName: string;
  readonly stats: Pick<PodStats, "measure">;
  /** Pods of the runtime that are not over. */
  readonly pods: () => readonly RunningPod[];
  /** From the root of the tree; "" as `container` = the pod's own. */
  readonly cgroupOf: (desired: DesiredPod, container: string) => string;
  readonly podsCgroup: () => string;
  /** Directory of a claim that the pod uses. */
  readonly claimPath: (desired: DesiredPod, claim: string) => string;
}

export interface RunningPod {
  readonly desired: DesiredPod;
  readonly observed: ObservedPod;
}

interface Asked {
  readonly isShort: boolean;
  readonly signal: AbortSignal;
}

interface Made {
  readonly at: Monotonic;
  readonly answer: Promise<JsonObject>;
}

interface Disks {
  readonly at: Monotonic;
  readonly usages: ReadonlyMap<string, PodUsage>;
}

const FRESH_MS = 1_000;
const DISKS_FRESH_MS = 60_000;
/** The whole answer; what takes longer fails. */
const LIMIT_MS = 20_000;

export class NodeSummary {
  readonly #options: NodeSummaryOptions;
  readonly #rates = new CpuRates();
  readonly #made = new Map<boolean, Made>();
  #disks: Disks | undefined;
  #imagefs: string | undefined;

  constructor(options: NodeSummaryOptions) {
    this.#options = options;
  }

  /** `isShort`: processor and memory only. Rejects when it takes longer than 20 s, or when the runtime does not answer. */
  get(isShort: boolean): Promise<JsonObject> {
    const now = this.#options.edges.clock.monotonic();
    const known = this.#made.get(isShort);
    if (known !== undefined && now - known.at < FRESH_MS) return known.answer;
    const answer = this.#make(isShort);
    this.#made.set(isShort, { at: now, answer });
    answer.catch(() => this.#made.delete(isShort));
    return answer;
  }

  async #make(isShort: boolean): Promise<JsonObject> {
    const { clock } = this.#options.edges;
    const limit = new AbortController();
    using _ = clock.after(LIMIT_MS, () => {
      limit.abort(new Error(`the statistics took longer than ${LIMIT_MS / 1000} s`));
    });
    return await this.#collect({ isShort, signal: limit.signal });
  }

  async #collect({ isShort, signal }: Asked): Promise<JsonObject> {
    const { edges, config, nodeName, podsCgroup } = this.#options;
    const { clock, readings, counters } = edges;
    const pods = this.#options.pods();
    const [stats, images] = await Promise.all([
      edges.cri.listContainerStats({}, { signal }),
      isShort ? undefined : this.#images(signal),
    ]);
    const disks = isShort ? undefined : await this.#measured(pods, signal);
    const at = clock.monotonic();
    const byPod = Map.groupBy(stats, (one) => one.attributes?.labels[LABEL.podUID] ?? "");
    const own = counters.ownCgroup();
    const usageOf = (path: string): Usage => this.#usage(path, counters.cgroup(path), at);
    const made = summary({
      nodeName,
      now: clock.now(),
      bootTime: counters.bootTime(),
      usage: usageOf(""),
      memory: readings.memory(),
      swap: counters.swap(),
      pids: readings.pids(),
      network: counters.hostNetwork(),
      nodefs: this.#fileSystem(config.stateDir),
      imagefs: this.#imagefs === undefined ? undefined : this.#fileSystem(this.#imagefs),
      images,
      system: [
        { name: "pods", path: podsCgroup() },
        // In the root, its figures would be those of the whole machine.
        ...(own === undefined || own === "" ? [] : [{ name: "kubelet", path: own }]),
      ].map(({ name, path }) => ({ name, usage: usageOf(path) })),
      pods: pods.map((pod) =>
        this.#pod(pod, { at, stats: byPod.get(pod.desired.uid) ?? [], disks }),
      ),
      isShort,
    });
    this.#rates.forgetUnread(at);
    return made;
  }

  #pod(
    { desired, observed }: RunningPod,
    known: {
      readonly at: Monotonic;
      readonly stats: readonly ContainerStats[];
      readonly disks: Disks["usages"] | undefined;
    },
  ): SummaryPod {
    const { cgroupOf, edges } = this.#options;
    const { counters } = edges;
    const { uid, pod } = desired;
    const [sandbox] = observed.sandboxes;
    const running = observed.containers.filter(({ state }) => state === "Running");
    const disk = known.disks?.get(uid);
    const containers = running.map((container): SummaryContainer => {
      const stats = known.stats.find((one) => one.attributes?.id === container.id);
      const path = cgroupOf(desired, container.id);
      const read = containerUsage(stats, counters.cgroup(path));
      return {
        name: container.name,
        startedAt: container.startedAt,
        usage: this.#usage(path, read, known.at),
        ...diskOf(container, disk),
      };
    });
    const own = cgroupOf(desired, "");
    const first = running[0] ?? sandbox;
    const isHost = sandbox?.hostNetwork === true;
    const network =
      isHost || first === undefined ? undefined : counters.network(cgroupOf(desired, first.id));
    return {
      ...pod.metadata,
      uid,
      startedAt: sandbox?.createdAt ?? 0,
      usage: this.#usage(own, counters.cgroup(own), known.at),
      ...(network === undefined ? {} : { network }),
      containers,
      volumes: disk === undefined ? [] : this.#volumes(desired, disk),
    };
  }

  /** With its rate, and its tasks' waits. */
  #usage(path: string, read: Usage, at: Monotonic): Usage {
    const pressure = this.#options.edges.counters.pressure(path);
    return { ...this.#rates.of(`/${path}`, read, at), pressure };
  }

  /** emptyDirs, and claims, of which only the file system is looked at, as the kubelet does. */
  #volumes(desired: DesiredPod, disk: PodUsage): readonly SummaryVolume[] {
    const { config, claimPath } = this.#options;
    const { stateDir } = config;
    const { uid, pod } = desired;
    const parent = `${podDirectory(stateDir, uid)}/volumes/kubernetes.io~empty-dir`;
    return pod.spec.volumes.flatMap((volume): readonly SummaryVolume[] => {
      const { name } = volume;
      if ("persistentVolumeClaim" in volume) {
        const claim = volume.persistentVolumeClaim.claimName;
        const room = this.#fileSystem(claimPath(desired, claim));
        if (room === undefined) return [];
        return [{ name, claim, used: usedOf(room), isEphemeral: false, room }];
      }
      if (!isEmptyDir(volume)) return [];
      const room = this.#fileSystem(`${parent}/${name}`);
      const onDisk = disk.emptyDirs.get(name);
      const used = onDisk ?? usedOf(room);
      return [{ name, used, isEphemeral: onDisk !== undefined, room }];
    });
  }

  /** Directories are walked once a minute, however many ask. */
  async #measured(pods: readonly RunningPod[], signal: AbortSignal): Promise<Disks["usages"]> {
    const { edges, stats } = this.#options;
    const now = edges.clock.monotonic();
    if (this.#disks !== undefined && now - this.#disks.at < DISKS_FRESH_MS)
      return this.#disks.usages;
    const desired = pods.map((one) => one.desired);
    const usages = await stats.measure(desired, { disk: true }, signal);
    this.#disks = { at: now, usages };
    return usages;
  }

  /** Also finds out where images lie. */
  async #images(signal: AbortSignal): Promise<{ bytes: number; inodes: number } | undefined> {
    const { cri, log } = this.#options.edges;
    try {
      const { imageFilesystems } = await cri.imageFsInfo({ signal });
      const [first] = imageFilesystems;
      const path = first?.fsId?.mountpoint ?? "";
      if (path !== "") this.#imagefs = path;
      if (first?.usedBytes === undefined) return undefined;
      return { bytes: Number(first.usedBytes.value), inodes: Number(first.inodesUsed?.value ?? 0) };
    } catch (error) {
      signal.throwIfAborted();
      log.debug("the runtime does not tell what its images use", { error: messageOf(error) });
      return undefined;
    }
  }

  /** A file system that may hang is not asked. */
  #fileSystem(path: string): FileSystemRoom | undefined {
    const { files, readings } = this.#options.edges;
    return files.hangable(path) === undefined ? readings.fileSystem(path) : undefined;
  }
}

function diskOf(
  { name }: ObservedContainer,
  usage: PodUsage | undefined,
): Pick<SummaryContainer, "disk"> {
  const own = usage?.containers.find((one) => one.name === name);
  return own === undefined ? {} : { disk: { layer: own.writableLayer, logs: own.logs } };
}

function isEmptyDir(volume: Volume): boolean {
  return "emptyDir" in volume;
}

function usedOf(room: FileSystemRoom | undefined) {
  if (room === undefined) return NO_USAGE;
  const { bytes, inodes } = room;
  return {
    bytes: bytes.capacity - bytes.available,
    inodes: inodes === undefined ? 0 : inodes.capacity - inodes.available,
  };
}
