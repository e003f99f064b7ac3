// Performs: creates and limits the cgroup of each pod, before or after its sandbox depending on the driver.
// kubelet: podContainerManager

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import { podName, type Pod, type PodUID } from "../../api/v1/pod.ts";
import { qosClass, type QosClass } from "../../api/resource/qos.ts";
import { memoryCgroupRemedy, type CgroupFailure } from "../../host/cgroups.ts";
import { AgentError } from "../../lib/errors.ts";
import {
  bareParent,
  cgroupParent,
  cgroupPaths,
  podCgroupDirectories,
  type PodCgroup,
} from "./cgroup-parent.ts";
import { podCgroupValues } from "./cgroup-values.ts";
import { hasMemoryQos } from "./memory-qos.ts";
import type { NodeCgroups, NodeCgroupsOptions } from "./node-cgroups.ts";
import type { Edges } from "../../edges.ts";

export interface PodCgroupsOptions extends Pick<NodeCgroupsOptions, "config" | "runtime"> {
  readonly edges: Pick<Edges, "cgroups" | "files" | "log" | "machine">;
  readonly nodeCgroups: Pick<NodeCgroups, "write" | "report">;
}

const QOS: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];

export class PodCgroups {
  readonly #options: PodCgroupsOptions;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  /** CRI's `cgroup_parent`. */
  parent({ uid, pod }: DesiredPod): string {
    const { config, runtime } = this.#options;
    if (config.cgroupsPerQOS) return cgroupParent(this.#place(uid, qosClass(pod.spec)));
    return bareParent({ driver: runtime.cgroupDriver, cgroupRoot: config.cgroupRoot });
  }

  #place(uid: PodUID, qos: QosClass): PodCgroup {
    const { config, runtime } = this.#options;
    return { uid, qos, driver: runtime.cgroupDriver, cgroupRoot: config.cgroupRoot };
  }

  /** Before the sandbox. Only for cgroupfs: systemd itself creates a slice when the runtime requests it. */
  prepare(desired: DesiredPod): void {
    if (this.#options.runtime.cgroupDriver === "cgroupfs") this.#write(desired, { make: true });
  }

  /** After the sandbox, before the first container: the limits of a slice that systemd has created. */
  settle(desired: DesiredPod): void {
    if (this.#options.runtime.cgroupDriver === "systemd") this.#write(desired, { make: false });
  }

  /** Removes what the runtime leaves behind. Never throws. */
  remove(uid: PodUID): void {
    const { edges, config } = this.#options;
    if (!config.cgroupsPerQOS) return;
    const { version, mountPoint } = edges.cgroups.facts;
    const hierarchies = version === 2 ? [] : this.#hierarchies(mountPoint);
    const tree = { version, mountPoint, hierarchies };
    // The spec may be unknown, and with it the class: the pod lies in one of the three.
    for (const qos of QOS)
      for (const directory of podCgroupDirectories(this.#place(uid, qos), tree))
        edges.files.removeEmptyDirectory(directory);
  }

  /** Throws AgentError `CreatePodSandboxError` when a limit of the pod cannot be enforced. */
  #write({ uid, pod }: DesiredPod, options: { readonly make: boolean }): void {
    const { edges, config, nodeCgroups } = this.#options;
    if (!config.cgroupsPerQOS) return;
    const { version } = edges.cgroups.facts;
    nodeCgroups.write(pod, options);
    const values = podCgroupValues(pod.spec, {
      ...config,
      version,
      hugePageSizes: hugePageSizes(edges),
      protectsMemory: hasMemoryQos(config, version),
    });
    const { pod: path } = cgroupPaths(this.#place(uid, qosClass(pod.spec)));
    const failures = edges.cgroups.write(path, values, options);
    const fatal = failures.find(({ value }) => value.isLimit);
    if (fatal !== undefined) throw this.#unenforced(pod, fatal);
    nodeCgroups.report("pods", values, failures);
  }

  #unenforced(pod: Pod, { value, message }: CgroupFailure): AgentError {
    const { facts } = this.#options.edges.cgroups;
    const remedy = value.controller === "memory" ? memoryCgroupRemedy(facts) : undefined;
    return new AgentError({
      reason: "CreatePodSandboxError",
      message: `the limit ${value.file}=${value.value} of pod ${podName(pod)} cannot be enforced: ${remedy ?? message}`,
    });
  }

  #hierarchies(mountPoint: string): readonly string[] {
    return this.#options.edges.files
      .list(mountPoint)
      .filter(({ kind }) => kind === "directory")
      .map(({ name }) => name);
  }
}

/** Sizes of huge pages that the kernel supports and can limit. */
export function hugePageSizes({
  machine,
  cgroups,
}: Pick<Edges, "cgroups" | "machine">): readonly string[] {
  return cgroups.facts.controllers.includes("hugetlb") ? Object.keys(machine.hugePages) : [];
}
