// Performs: builds what measures pods: for eviction, and for those who ask for statistics.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { qosClass } from "../api/resource/qos.ts";
import type { AgentConfig } from "../config/config.ts";
import type { Edges } from "../edges.ts";
import type { RuntimeWatch } from "../pleg/runtime-watch.ts";
import type { Pods } from "../podworkers/pods.ts";
import { cgroupPaths, type CgroupPaths } from "../runtime/cgroup/cgroup-parent.ts";
import { Claims } from "../volume/claim-directory.ts";
import { claimUser } from "./build-pods.ts";
import { NodeSummary } from "../stats/node-summary.ts";
import { PodStats } from "../stats/pod-stats.ts";

interface StatsOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly pods: Pods;
  readonly runtime: Pick<RuntimeWatch, "cgroupDriver">;
}

export interface Measuring {
  readonly stats: PodStats;
  readonly summary: NodeSummary;
  /** The cgroup of all pods, from the root of the tree. */
  readonly podsCgroup: () => string;
}

export function buildStats(options: StatsOptions): Measuring {
  const { edges, config, pods, runtime } = options;
  const podsCgroup = (): string => cgroupsOf(undefined, options).allPods;
  const cgroupOf = (pod: DesiredPod): string => cgroupsOf(pod, options).pod;
  const claims = new Claims({ ...config, ...edges });
  const stats = new PodStats({ edges, config, cgroupOf });
  const summary = new NodeSummary({
    ...options,
    stats,
    podsCgroup,
    claimPath: (desired, name) => {
      const { namespace } = desired.pod.metadata;
      return claims.pathOf({ namespace, name, by: claimUser(desired) });
    },
    cgroupOf: (pod, container) =>
      container === "" ? cgroupOf(pod) : `${cgroupOf(pod)}/${cgroupName(container, runtime)}`,
    pods: () =>
      pods.workers.desiredPods().flatMap((desired) => {
        const observed = pods.cache.get(desired.uid);
        const isThere = observed !== undefined && !pods.statuses.isOver(desired.uid);
        return isThere ? [{ desired, observed }] : [];
      }),
  });
  return { stats, summary, podsCgroup };
}

/** As runc and containerd name it. */
function cgroupName(id: string, { cgroupDriver }: StatsOptions["runtime"]): string {
  return cgroupDriver === "systemd" ? `cri-containerd-${id}.scope` : id;
}

function cgroupsOf(pod: DesiredPod | undefined, options: StatsOptions): CgroupPaths {
  const { config, runtime } = options;
  const { cgroupRoot } = config;
  const qos = pod === undefined ? "Guaranteed" : qosClass(pod.pod.spec);
  return cgroupPaths({ uid: pod?.uid ?? "none", qos, driver: runtime.cgroupDriver, cgroupRoot });
}
