// Performs: the cgroups around pods: what all of them, and each QoS class, may use; and those of what is reserved. Keeps what
// this machine cannot set, for the node's condition. kubelet: enforceNodeAllocatableCgroups, qosContainerManager

import type { AgentConfig } from "../../config/config.ts";
import type { Edges } from "../../edges.ts";
import { nodeCapacity } from "../../api/resource/node-resources.ts";
import {
  add,
  amountsOf,
  podRequests,
  subtract,
  type Amounts,
} from "../../api/resource/pod-requests-limits.ts";
import { qosClass, type QosClass } from "../../api/resource/qos.ts";
import type { NodeCondition } from "../../api/v1/pod-status.ts";
import type { Pod } from "../../api/v1/pod.ts";
import { memoryCgroupRemedy, type CgroupFailure, type CgroupValue } from "../../host/cgroups.ts";
import { cgroupConditions } from "./cgroup-conditions.ts";
import { namedCgroup, nodeCgroupPaths, type CgroupDriver } from "./cgroup-parent.ts";
import { allPodsValues, qosValues, reservedValues } from "./cgroup-values.ts";
import { hasMemoryQos } from "./memory-qos.ts";

export interface NodeCgroupsOptions {
  readonly edges: Pick<Edges, "cgroups" | "log" | "machine">;
  readonly config: AgentConfig;
  /** Known when the runtime has answered, which precedes the first pod. */
  readonly runtime: { readonly cgroupDriver: CgroupDriver };
  /** Pods that have not ended. */
  readonly activePods: () => readonly Pod[];
  /** `conditions()` may have changed. */
  readonly onChange?: () => void;
}

interface Asked {
  readonly qos: QosClass;
  readonly requests: Amounts;
}

const NOTHING: Amounts = new Map();

export class NodeCgroups {
  readonly #options: NodeCgroupsOptions;
  /** By level and file: what could not be written last. */
  readonly #failures = new Map<string, CgroupFailure>();
  readonly #warned = new Set<string>();
  /** Cached: a spec never changes. */
  readonly #asked = new WeakMap<Pod, Asked>();
  /** By path: what was written last. */
  readonly #written = new Map<string, string>();

  constructor(options: NodeCgroupsOptions) {
    this.#options = options;
  }

  /** Once the runtime has answered. With systemd the slices of pods appear with the first pod. */
  start(): void {
    this.#writeReserved();
    if (this.#options.runtime.cgroupDriver === "cgroupfs")
      this.#writeAll({ make: true, always: true });
  }

  /** Together with the cgroup of `pod`. Always written: systemd or a cleanup may have recreated the cgroups since. */
  write(pod: Pod, { make }: { readonly make: boolean }): void {
    this.#writeAll({ make, always: true, newest: pod });
  }

  /** After a pod is gone; writes what has changed. */
  update(): void {
    this.#writeAll({ make: false, always: false });
  }

  /** What could not be written is warned of once, and a condition until it can be. `level`: what is limited. */
  report(level: string, values: readonly CgroupValue[], failures: readonly CgroupFailure[]): void {
    const before = this.#failures.size;
    for (const { file } of values) this.#failures.delete(`${level}:${file}`);
    for (const failure of failures) this.#warn(level, failure);
    if (this.#failures.size !== before) this.#options.onChange?.();
  }

  conditions(): readonly NodeCondition[] {
    const { facts } = this.#options.edges.cgroups;
    const memoryRemedy = memoryCgroupRemedy(facts);
    return cgroupConditions([...this.#failures.values()], { ...facts, memoryRemedy });
  }

  #writeAll(how: {
    readonly make: boolean;
    readonly always: boolean;
    readonly newest?: Pod;
  }): void {
    const { edges, config, runtime, activePods } = this.#options;
    if (!config.cgroupsPerQOS) return;
    const { newest } = how;
    const pods = new Set([...activePods(), ...(newest === undefined ? [] : [newest])]);
    const paths = nodeCgroupPaths({
      driver: runtime.cgroupDriver,
      cgroupRoot: config.cgroupRoot,
    });
    const { version } = edges.cgroups.facts;
    const [burstable, guaranteed] = [this.#sum(pods, "Burstable"), this.#sum(pods, "Guaranteed")];
    const min = (amounts: Amounts): { readonly memoryMin?: bigint } =>
      hasMemoryQos(config, version) ? { memoryMin: amounts.get("memory") ?? 0n } : {};
    this.#write("allPods", paths.allPods, {
      ...how,
      values: this.#allPodsValues(min(add(burstable, guaranteed))),
    });
    for (const qos of ["Burstable", "BestEffort"] as const) {
      // With systemd the slice of a class appears with its first pod.
      const isThere = how.make || newest === undefined || this.#ask(newest).qos === qos;
      const requests = { cpuRequests: burstable.get("cpu") ?? 0n, ...min(burstable) };
      const values = qosValues(qos, { version, ...requests });
      if (isThere) this.#write(qos, paths[qos], { ...how, values });
    }
  }

  #allPodsValues(more: { readonly memoryMin?: bigint }): readonly CgroupValue[] {
    const { edges, config } = this.#options;
    const isEnforced = config.enforceNodeAllocatable.includes("pods");
    const reserved = isEnforced ? this.#reserved() : NOTHING;
    const capacity = this.#capacity();
    const { version, controllers } = edges.cgroups.facts;
    const values = allPodsValues({
      version,
      allocatable: subtract(capacity, reserved),
      isKept: (resource) => (reserved.get(resource) ?? 0n) > 0n && capacity.has(resource),
      ...more,
    });
    // A limit that is not asked for is only taken back where there may be one.
    return values.filter(
      ({ file, value }) => file !== "pids.max" || value !== "max" || controllers.includes("pids"),
    );
  }

  #writeReserved(): void {
    const { edges, config } = this.#options;
    const { version } = edges.cgroups.facts;
    const { enforceNodeAllocatable: enforced } = config;
    const protectMemory = hasMemoryQos(config, version);
    for (const kind of ["system-reserved", "kube-reserved"] as const) {
      const onlyCpu = enforced.includes(`${kind}-compressible`);
      const isSystem = kind === "system-reserved";
      const name = isSystem ? config.systemReservedCgroup : config.kubeReservedCgroup;
      if (name === undefined || !(onlyCpu || enforced.includes(kind))) continue;
      const reserved = amountsOf(isSystem ? config.systemReserved : config.kubeReserved);
      const values = reservedValues(version, reserved, { onlyCpu, protectMemory });
      this.#write(kind, namedCgroup(name), { values, make: false, always: true });
    }
  }

  #write(
    level: string,
    path: string,
    {
      values,
      make,
      always,
    }: {
      readonly values: readonly CgroupValue[];
      readonly make: boolean;
      readonly always: boolean;
    },
  ): void {
    const text = values.map(({ file, value }) => `${file}=${value}`).join(" ");
    // What was never written is not there yet.
    if (!always && (this.#written.get(path) ?? text) === text) return;
    this.#written.set(path, text);
    const failures = this.#options.edges.cgroups.write(path, values, { make });
    // systemd removes an empty slice: what is not there needs no value.
    if (always) this.report(level, values, failures);
  }

  #reserved(): Amounts {
    const { systemReserved, kubeReserved } = this.#options.config;
    return add(amountsOf(systemReserved), amountsOf(kubeReserved));
  }

  /** Unlike what the node publishes with the processes that the kernel allows. */
  #capacity(): Amounts {
    const { edges, config } = this.#options;
    const { machine } = edges;
    const pids: Amounts =
      machine.maxPids === undefined ? NOTHING : new Map([["pid", BigInt(machine.maxPids) * 1000n]]);
    return add(amountsOf(nodeCapacity({ ...machine, maxPods: config.maxPods })), pids);
  }

  #sum(pods: ReadonlySet<Pod>, qos: QosClass): Amounts {
    const asked = [...pods].map((pod) => this.#ask(pod)).filter((one) => one.qos === qos);
    const of = (name: string): bigint =>
      asked.reduce((sum, { requests }) => sum + (requests.get(name) ?? 0n), 0n);
    return new Map([
      ["cpu", of("cpu")],
      ["memory", of("memory")],
    ]);
  }

  #ask(pod: Pod): Asked {
    const known = this.#asked.get(pod);
    if (known !== undefined) return known;
    const asked = { qos: qosClass(pod.spec), requests: podRequests(pod.spec) };
    this.#asked.set(pod, asked);
    return asked;
  }

  #warn(level: string, failure: CgroupFailure): void {
    const { path, value, message } = failure;
    const { controller, file } = value;
    this.#failures.set(`${level}:${file}`, failure);
    if (this.#warned.has(file)) return;
    this.#warned.add(file);
    this.#options.edges.log.warn("cannot write to a cgroup", { path, controller, file, message });
  }
}
