// Performs: removes old containers and sandboxes of wanted pods, with their logs. kubelet: container GC, removeContainerLog

import type { Edges } from "../edges.ts";
import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { podLogDirectory } from "../api/pod/log-paths.ts";
import type { ObservedContainer, ObservedPod } from "../api/pod/observed-pod.ts";
import { podName } from "../api/v1/pod.ts";
import type { AgentConfig } from "../config/config.ts";
import { earliest, type Monotonic } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import type { PodCache } from "../pleg/pod-cache.ts";
import { perContainerLimit, planGarbage, type Garbage } from "../runtime/decide/dead-containers.ts";
import type { PodConfigs } from "../runtime/pod-configs.ts";
import type { PodSyncState } from "./pod-sync-state.ts";

const AGAIN_MS = 60_000;
/** Dead containers, before those that are gone are forgotten. */
const REMEMBERED = 500;
const NO_OLDER = { maxPerPodContainer: 0 };

export interface GarbageOptions extends Pick<Edges, "clock" | "log" | "files" | "cri"> {
  readonly config: Pick<AgentConfig, "containerGC" | "podLogsDir">;
  readonly configs: Pick<PodConfigs, "terminationLog">;
  readonly cache: Pick<PodCache, "get" | "all">;
  /** Pods that run or are being stopped. */
  readonly workers: { desiredPods(): readonly DesiredPod[] };
}

interface GarbageLook {
  readonly desired: DesiredPod;
  readonly observed: ObservedPod | undefined;
  readonly syncState: Pick<PodSyncState, "unsure">;
}

export interface CollectedContainers {
  readonly containers: number;
  readonly sandboxes: number;
}

export class GarbageCollector {
  readonly #options: GarbageOptions;
  /** When each dead container was first seen dead, by id; only with a minimum age. */
  readonly #deadSince = new Map<string, Monotonic>();

  constructor(options: GarbageOptions) {
    this.#options = options;
  }

  /** What one pod does not need any more. Returns when to look again. */
  async collect({ desired, observed, syncState }: GarbageLook): Promise<Monotonic | undefined> {
    if (observed === undefined) return undefined;
    const { clock, log, config, cache } = this.#options;
    const { minAgeMs, maxContainers } = config.containerGC;
    const all = maxContainers < 0 ? [] : cache.all().values();
    const maxPerPodContainer = perContainerLimit(config.containerGC, all);
    const due = this.#noteAges(observed, minAgeMs);
    const now = clock.monotonic();
    const isTooNew = ({ id }: ObservedContainer): boolean => (due.get(id) ?? now) > now;
    const garbage = planGarbage(observed, { maxPerPodContainer, isTooNew });
    const next = earliest([...due.values()].filter((at) => at > now));
    if (garbage.containers.length + garbage.sandboxes.length === 0) return next;
    syncState.unsure = true;
    try {
      await this.#remove(desired, garbage);
    } catch (error) {
      log.debug("garbage stays", { pod: podName(desired.pod), error: messageOf(error) });
      return now + AGAIN_MS;
    }
    return next;
  }

  /** Of all wanted pods everything dead but the newest of each container: the disk is needed. */
  async collectDead(signal: AbortSignal): Promise<CollectedContainers> {
    const { cache, workers, log } = this.#options;
    let [containers, sandboxes] = [0, 0];
    for (const desired of workers.desiredPods()) {
      if (signal.aborted) break;
      const observed = cache.get(desired.uid);
      if (observed === undefined) continue;
      const garbage = planGarbage(observed, NO_OLDER);
      try {
        await this.#remove(desired, garbage, signal);
        containers += garbage.containers.length;
        sandboxes += garbage.sandboxes.length;
      } catch (error) {
        const facts = { pod: podName(desired.pod), error: messageOf(error) };
        log.warn("cannot remove dead containers", facts);
      }
    }
    return { containers, sandboxes };
  }

  async #remove(
    desired: DesiredPod,
    { containers, sandboxes }: Garbage,
    signal?: AbortSignal,
  ): Promise<void> {
    const { cri, files, configs } = this.#options;
    for (const container of containers) {
      // Before the record, by which they are found: a crash between the two leaves nothing behind.
      this.#removeLogs(desired, container);
      files.remove(configs.terminationLog(desired, container.name, container.attempt));
      await cri.removeContainer(container.id, { signal });
      this.#deadSince.delete(container.id);
    }
    for (const id of sandboxes) await cri.removePodSandbox(id, { signal });
  }

  /** Also the rotated ones. The newest instance stays, so the attempt numbers go on from its log. */
  #removeLogs({ uid, pod }: DesiredPod, { name, attempt }: ObservedContainer): void {
    const { files, config } = this.#options;
    const pods = podLogDirectory(config.podLogsDir, { ...pod.metadata, uid });
    const directory = `${pods}/${name}`;
    if (files.info(directory)?.kind !== "directory") return;
    for (const file of files.list(directory))
      if (file.kind === "file" && file.name.startsWith(`${attempt}.log`))
        files.remove(`${directory}/${file.name}`);
  }

  /** When each dead container of the pod is old enough. */
  #noteAges({ containers }: ObservedPod, minAgeMs: number): ReadonlyMap<string, Monotonic> {
    if (minAgeMs === 0) return new Map();
    if (this.#deadSince.size > REMEMBERED) this.#forgetGone();
    const now = this.#options.clock.monotonic();
    const dead = containers.filter(({ state }) => state === "Exited");
    const due = new Map<string, Monotonic>();
    for (const { id } of dead) {
      const since = this.#deadSince.get(id) ?? now;
      this.#deadSince.set(id, since);
      due.set(id, since + minAgeMs);
    }
    return due;
  }

  #forgetGone(): void {
    const pods = [...this.#options.cache.all().values()];
    const here = new Set(pods.flatMap(({ containers }) => containers.map(({ id }) => id)));
    for (const id of this.#deadSince.keys()) if (!here.has(id)) this.#deadSince.delete(id);
  }
}
