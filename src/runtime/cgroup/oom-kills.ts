// Performs: asks the kernel whether its OOM killer has ended a process of a container: the runtime's word for it is
// sometimes missing.

import type { AgentConfig } from "../../config/config.ts";
import type { Cgroups } from "../../host/cgroups.ts";
import type { PodUID } from "../../api/v1/pod.ts";
import type { QosClass } from "../../api/resource/qos.ts";
import { bareParent, cgroupPaths, namedCgroup, type CgroupDriver } from "./cgroup-parent.ts";

export interface OomKillsOptions {
  readonly cgroups: Pick<Cgroups, "oomKills">;
  readonly config: Pick<AgentConfig, "cgroupRoot" | "cgroupsPerQOS">;
  /** Known when the runtime has answered, which precedes its first event. */
  readonly cgroupDriver: () => CgroupDriver;
}

const QOS: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];
/** More pods than a node runs; the longest unasked one is forgotten. */
const KNOWN_PODS = 1_000;

export class OomKills {
  readonly #options: OomKillsOptions;
  /** Pod → kills in its cgroup that are known; absent = none. */
  readonly #known = new Map<PodUID, number>();

  constructor(options: OomKillsOptions) {
    this.#options = options;
  }

  /**
   * To be asked right after the exit. The cgroup of the container may be gone by then: systemd removes an empty one before
   * the runtime reports the exit. Version 2 counts the kills in the pod's cgroup too, which stays.
   */
  has(uid: PodUID, container: string): boolean {
    const { config, cgroups, cgroupDriver } = this.#options;
    const driver = cgroupDriver();
    const { cgroupRoot, cgroupsPerQOS } = config;
    const paths = cgroupsPerQOS
      ? this.#podPaths(uid)
      : [namedCgroup(bareParent({ driver, cgroupRoot }))];
    const own = driver === "systemd" ? `cri-containerd-${container}.scope` : container;
    const isOwn = paths.some((path) => (cgroups.oomKills(`${path}/${own}`) ?? 0) > 0);
    const known = this.#known.get(uid) ?? 0;
    return this.note(uid) > known || isOwn;
  }

  /** From now on the kills so far in the pod's cgroup are known. Returns how many they are. */
  note(uid: PodUID): number {
    const { config, cgroups } = this.#options;
    const paths = config.cgroupsPerQOS ? this.#podPaths(uid) : [];
    const counts = paths.map((path) => cgroups.oomKills(path) ?? 0);
    const count = Math.max(0, ...counts);
    this.#known.delete(uid);
    if (count > 0) this.#known.set(uid, count);
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_PODS && oldest !== undefined) this.#known.delete(oldest);
    return count;
  }

  /** The spec may be unknown, and with it the class: the pod lies in one of the three. */
  #podPaths(uid: PodUID): readonly string[] {
    const { config, cgroupDriver } = this.#options;
    const place = { driver: cgroupDriver(), cgroupRoot: config.cgroupRoot };
    return QOS.map((qos) => cgroupPaths({ ...place, uid, qos }).pod);
  }
}
