// Performs: builds what observes the pods in the runtime, and records what the kernel's OOM killer has ended.

import type { PodUID } from "../api/v1/pod.ts";
import { allContainers } from "../api/v1/pod.ts";
import { podEvent, warning, type EventContent, type RecordEvent } from "../api/v1/events.ts";
import type { AgentConfig } from "../config/config.ts";
import type { Edges } from "../edges.ts";
import { PodLifecycle } from "../pleg/pod-lifecycle.ts";
import type { Pods } from "../podworkers/pods.ts";
import { OomKills, type OomKillsOptions } from "../runtime/cgroup/oom-kills.ts";
import { RuntimeReader } from "../runtime/observe/runtime-reader.ts";

interface LifecycleOptions extends Pick<OomKillsOptions, "cgroupDriver"> {
  readonly edges: Edges;
  readonly config: AgentConfig;
  readonly pods: Pods;
  readonly record: RecordEvent;
  /** The runtime shows a change of the pod. */
  readonly onPodChanged: (uid: PodUID) => void;
}

/** Built before what makes pods run: all of it observes through the lifecycle. */
export function buildLifecycle(options: LifecycleOptions): PodLifecycle {
  const { edges, config, pods, cgroupDriver, onPodChanged } = options;
  const { cri, files, cgroups } = edges;
  return new PodLifecycle({
    ...edges,
    ...pods,
    reader: new RuntimeReader({ cri, files, instance: config.instance }),
    oomKills: new OomKills({ cgroups, config, cgroupDriver }),
    onOutOfMemory: (uid, id) => recordOutOfMemory(uid, id, options),
    onChange: onPodChanged,
  });
}

/** Also of a process beside the container's first one, without which the container goes on. */
function recordOutOfMemory(
  uid: PodUID,
  id: string,
  { edges, pods, record }: Pick<LifecycleOptions, "edges" | "pods" | "record">,
): void {
  const observed = pods.cache.get(uid);
  const name = observed?.containers.find((container) => container.id === id)?.name;
  if (observed === undefined || name === undefined) return;
  const spec = pods.workers.get(uid)?.desired?.pod.spec;
  const own = spec && allContainers(spec).find((container) => container.name === name);
  const event = podEvent(observed, outOfMemory(name, own?.resources.limits.memory));
  // Not within the list or event that shows it: those are no place to write to the database.
  edges.clock.after(0, () => record(event));
}

function outOfMemory(container: string, limit: string | undefined): EventContent {
  const bound = limit === undefined ? "" : ` (limit ${limit})`;
  return warning(
    "OOMKilling",
    `the kernel has killed a process of container ${container}, which ran out of memory${bound}`,
  );
}
