// Performs: builds the hosts files of pods, with the names of all pods of this node as they are now.

import { currentSandbox } from "../api/pod/observed-pod.ts";
import type { DesiredService } from "../api/v1/object/service.ts";
import type { Edges } from "../edges.ts";
import type { Pods } from "../podworkers/pods.ts";
import { HostsFiles } from "../runtime/names/hosts-files.ts";
import type { AddressedPod } from "../runtime/names/named-pods.ts";
import type { PodConfigs } from "../runtime/pod-configs.ts";
import type { RuntimeHelper } from "../runtime/runtime-helper.ts";

interface HostsFilesFacts {
  readonly edges: Pick<Edges, "files" | "clock" | "log">;
  readonly pods: Pods;
  readonly configs: Pick<PodConfigs, "etcHosts">;
  readonly helper: Pick<RuntimeHelper, "clusterDomain" | "nodeHosts" | "hostIPs">;
  /** Whether every pod of the node has its worker; absent = yes. */
  readonly areAllKnown?: (() => boolean) | undefined;
  /** In order of precedence; absent = there are none. */
  readonly services?: (() => readonly DesiredService[]) | undefined;
  readonly signal: AbortSignal;
}

export function buildHostsFiles(facts: HostsFilesFacts): HostsFiles {
  const { edges, configs, helper, areAllKnown = () => true, services = () => [], signal } = facts;
  const hosts = new HostsFiles({
    ...edges,
    path: configs.etcHosts,
    services,
    helper,
    pods: () => (areAllKnown() ? addressedPods(facts) : undefined),
  });
  signal.addEventListener("abort", () => hosts[Symbol.dispose](), { once: true });
  return hosts;
}

/** As the runtime shows them: after a restart the statuses come one by one. */
function addressedPods({ pods, helper }: HostsFilesFacts): readonly AddressedPod[] {
  const { cache, statuses, workers } = pods;
  return workers.list().flatMap((worker) => {
    const { desired, uid } = worker;
    if (desired === undefined) return [];
    const sandbox = currentSandbox(cache.get(uid));
    const ips = desired.pod.spec.hostNetwork ? helper.hostIPs() : sandbox?.ips;
    const conditions = statuses.status(uid)?.conditions ?? [];
    return {
      desired,
      ips: sandbox?.state === "Ready" ? (ips ?? []) : [],
      isReady: conditions.some(({ type, status }) => type === "Ready" && status === "True"),
      isNamed: worker.removal === undefined && !statuses.isOver(uid),
    };
  });
}
