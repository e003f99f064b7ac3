// Performs: creates and limits the cgroup of each pod, before or after its sandbox depending on the driver.
// kubelet: podContainerManager

import type { AgentConfig } from "../../config/config.ts";
import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import { podRequests, type Amounts } from "../../api/resource/pod-requests-limits.ts";
import { podName, type Pod, type PodUID } from "../../api/v1/pod.ts";
import { qosClass, type QosClass } from "../../api/resource/qos.ts";
import { memoryCgroupRemedy, type CgroupFailure, type CgroupValue } from "../../host/cgroups.ts";
import { AgentError } from "../../lib/errors.ts";
import {
  cgroupPaths,
  podCgroupDirectories,
  type CgroupDriver,
  type PodCgroup,
} from "./cgroup-parent.ts";
import { allPodsValues, podCgroupValues, qosValues } from "./cgroup-values.ts";
import type { Edges } from "../../edges.ts";
import { allocatableAmounts } from "../../api/resource/node-resources.ts";

export interface PodCgroupsOptions {
  readonly edges: Pick<Edges, "cgroups" | "files" | "log" | "machine">;
  readonly config: AgentConfig;
  /** Known when the runtime has answered, which precedes the first pod. */
  readonly runtime: { readonly cgroupDriver: CgroupDriver };
  /** Pods that have not ended. */
  readonly activePods: () => readonly Pod[];
}

const QOS: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];

export class PodCgroups {
  readonly #options: PodCgroupsOptions;
  readonly #warned = new Set<string>();
  /** CPU request of a Burstable pod, cached: a spec never changes. */
  readonly #cpu = new WeakMap<Pod, bigint>();

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  place(uid: PodUID, qos: QosClass): PodCgroup {
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
    const { files, cgroups } = this.#options.edges;
    const { version, mountPoint } = cgroups.facts;
    const hierarchies = version === 2 ? [] : this.#hierarchies(mountPoint);
    const tree = { version, mountPoint, hierarchies };
    // The spec may be unknown, and with it the class: the pod lies in one of the three.
    for (const qos of QOS)
      for (const directory of podCgroupDirectories(this.place(uid, qos), tree))
        files.removeEmptyDirectory(directory);
  }

  /** Throws AgentError `CreatePodSandboxError` when a limit of the pod cannot be enforced. */
  #write(desired: DesiredPod, options: { readonly make: boolean }): void {
    const { edges, config } = this.#options;
    const { facts } = edges.cgroups;
    const { uid, pod } = desired;
    const qos = qosClass(pod.spec);
    const paths = cgroupPaths(this.place(uid, qos));
    // Again with every pod: systemd or a cleanup may have recreated the parents since.
    this.#warn(edges.cgroups.write(paths.allPods, this.#allPods(), options));
    if (paths.qos !== undefined && qos !== "Guaranteed")
      this.#warn(edges.cgroups.write(paths.qos, this.#ofClass(qos, pod), options));
    const values = podCgroupValues(pod.spec, {
      ...config,
      version: facts.version,
      hugePageSizes: hugePageSizes(edges),
    });
    const failures = edges.cgroups.write(paths.pod, values, options);
    const fatal = failures.find(({ value }) => value.isLimit);
    if (fatal !== undefined) throw this.#unenforced(pod, fatal);
    this.#warn(failures);
  }

  #allPods(): readonly CgroupValue[] {
    const { edges, config } = this.#options;
    const { systemReserved, kubeReserved } = config;
    return allPodsValues({
      version: edges.cgroups.facts.version,
      allocatable: allocatableOf(edges, config),
      isMemoryReserved: (systemReserved.memory ?? kubeReserved.memory) !== undefined,
    });
  }

  #ofClass(qos: Exclude<QosClass, "Guaranteed">, newest: Pod): readonly CgroupValue[] {
    const { edges, activePods } = this.#options;
    const pods = qos === "Burstable" ? new Set([...activePods(), newest]) : [];
    const cpuRequests = [...pods].reduce((sum, pod) => sum + this.#burstableCpu(pod), 0n);
    return qosValues(qos, { version: edges.cgroups.facts.version, cpuRequests });
  }

  #burstableCpu(pod: Pod): bigint {
    const known = this.#cpu.get(pod);
    if (known !== undefined) return known;
    const asks = qosClass(pod.spec) === "Burstable";
    const asked = asks ? (podRequests(pod.spec).get("cpu") ?? 0n) : 0n;
    this.#cpu.set(pod, asked);
    return asked;
  }

  #unenforced(pod: Pod, { value, message }: CgroupFailure): AgentError {
    const { facts } = this.#options.edges.cgroups;
    const remedy = value.controller === "memory" ? memoryCgroupRemedy(facts) : undefined;
    return new AgentError({
      reason: "CreatePodSandboxError",
      message: `the limit ${value.file}=${value.value} of pod ${podName(pod)} cannot be enforced: ${remedy ?? message}`,
    });
  }

  #warn(failures: readonly CgroupFailure[]): void {
    for (const { path, value, message } of failures) {
      const { controller, file } = value;
      if (this.#warned.has(file)) continue;
      this.#warned.add(file);
      this.#options.edges.log.warn("cannot write to a cgroup", { path, controller, file, message });
    }
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

/** The node's capacity less what is reserved. */
export function allocatableOf({ machine }: Pick<Edges, "machine">, config: AgentConfig): Amounts {
  return allocatableAmounts({ ...machine, maxPods: config.maxPods }, config);
}
