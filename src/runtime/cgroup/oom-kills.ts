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

export class OomKills {
  readonly #options: OomKillsOptions;

  constructor(options: OomKillsOptions) {
    this.#options = options;
  }

  /** To be asked right after the exit: the runtime removes the cgroup soon, and then it is false. */
  has(uid: PodUID, container: string): boolean {
    const { cgroups, config, cgroupDriver } = this.#options;
    const place = { driver: cgroupDriver(), cgroupRoot: config.cgroupRoot };
    // The spec may be unknown, and with it the class: the pod lies in one of the three.
    const paths = config.cgroupsPerQOS
      ? QOS.map((qos) => cgroupPaths({ ...place, uid, qos }).pod)
      : [namedCgroup(bareParent(place))];
    const own = place.driver === "systemd" ? `cri-containerd-${container}.scope` : container;
    return paths.some((path) => (cgroups.oomKills(`${path}/${own}`) ?? 0) > 0);
  }
}
