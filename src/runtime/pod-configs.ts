// Performs: makes CRI's messages of pods: gives the pure functions of cri-config/ the node's facts.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { podEvent, type RecordEvent } from "../api/v1/events.ts";
import { etcHostsPath, terminationLogPath } from "../api/pod/pod-directory.ts";
import { podLogDirectory } from "../api/pod/log-paths.ts";
import type { IdRange, ObservedPod } from "../api/pod/observed-pod.ts";
import { memoryCgroupRemedy, type CgroupFacts } from "../host/cgroups.ts";
import type { Files } from "../host/files.ts";
import { containerConfig, type ContainerConfigFacts } from "./cri-config/container-config.ts";
import type { RuntimeFeatures } from "./cri-config/features.ts";
import type { ContainerFacts, SandboxAttempt } from "./decide/action-input.ts";
import { podDns, type DnsConfig, isOnlyStub, parseResolvConf } from "./cri-config/pod-dns.ts";
import { sandboxConfig, runtimeHandlerOf } from "./cri-config/sandbox-config.ts";
import type { Edges } from "../edges.ts";
import { PodCgroups, hugePageSizes, type PodCgroupsOptions } from "./cgroup/pod-cgroups.ts";
import { hasMemoryQos } from "./cgroup/memory-qos.ts";
import type { ResourcePolicy } from "./cgroup/container-resources.ts";
import { nodeAllocatable } from "./runtime-helper.ts";
import { freeIdRange } from "./cri-config/namespaces.ts";
import type { PodUID } from "../api/v1/pod.ts";
import type { Container } from "../api/v1/container.ts";
import { configError } from "../lib/errors.ts";
import { withoutUndefined } from "../lib/json.ts";
import { seccompRoot } from "./cri-config/seccomp.ts";

export interface PodConfigsOptions extends PodCgroupsOptions {
  readonly edges: Edges;
  readonly record: RecordEvent;
  readonly runtime: PodCgroupsOptions["runtime"] & { readonly features: RuntimeFeatures };
  /** Every pod that the runtime has. */
  readonly observed: () => Iterable<ObservedPod>;
  /** True for a device of the node, or a directory that may contain devices. */
  readonly devices: { has(path: string): boolean };
}

export type PodConfigs = ReturnType<typeof podConfigs>;

/** Exists only while SELinux is enabled in the kernel. */
const SELINUX = "/sys/fs/selinux/enforce";
const CPUS = "/sys/devices/system/cpu";

export function podConfigs(options: PodConfigsOptions) {
  const { edges, config } = options;
  const { files, machine } = edges;
  const { instance, podLogsDir } = config;
  const cgroups = new PodCgroups(options);
  const { facts: cgroupFacts } = edges.cgroups;
  const dns = ({ pod }: DesiredPod) => {
    const node = nodeDns(files, config.resolvConf);
    const { config: podConfig, events } = podDns(pod, { node, ...config });
    for (const event of events) options.record(podEvent(pod.metadata, event));
    return podConfig;
  };
  const security = securityFacts(options);
  const idRanges = new IdRanges(options.observed);
  const ofPod = ({ uid, pod }: DesiredPod) => ({
    features: options.runtime.features,
    runtimeHandler: runtimeHandlerOf(pod, config.runtimeClasses),
    ...(pod.spec.hostUsers ? {} : { userNamespace: idRanges.of(uid) }),
  });
  return {
    /** The runtime handler that runs the pod; "" = the default. Throws AgentError. */
    runtimeHandler: ({ pod }: DesiredPod) => runtimeHandlerOf(pod, config.runtimeClasses),
    sandbox: (desired: DesiredPod, { attempt, activeSince, startTime }: SandboxAttempt) =>
      sandboxConfig(desired, {
        ...security,
        ...ofPod(desired),
        cpuCFSQuota: config.cpuCFSQuota,
        attempt,
        activeSince,
        ...withoutUndefined({ startTime }),
        bootId: edges.bootId,
        instance,
        podLogsDir,
        dns: dns(desired),
        clusterDomain: config.clusterDomain,
        cgroupParent: cgroups.parent(desired),
      }),
    /** Called before the sandbox is created: sets the limits of the pod as a whole. Throws AgentError. */
    prepareCgroup: (desired: DesiredPod) => cgroups.prepare(desired),
    /** Called after the sandbox, before any container: the same where only the runtime can create cgroups. Throws AgentError. */
    settleCgroup: (desired: DesiredPod) => cgroups.settle(desired),
    container: (desired: DesiredPod, container: Container, facts: ContainerFacts) => {
      requireMemoryCgroup(container, cgroupFacts);
      return containerConfig(desired, container, {
        ...facts,
        ...security,
        ...ofPod(desired),
        instance,
        cgroupVersion: cgroupFacts.version,
        memoryBytes: machine.memoryBytes,
        cpuCFSQuota: config.cpuCFSQuota,
        hugePageSizes: hugePageSizes(edges),
        limitsSwap: cgroupFacts.hasSwap,
        ...memoryQos(options),
      });
    },
    /** Directory of one container's logs. */
    containerLogDirectory: ({ pod }: DesiredPod, container: string) =>
      `${podLogDirectory(podLogsDir, pod.metadata)}/${container}`,
    /** Host path of one instance's termination message. */
    terminationLog: ({ uid }: DesiredPod, container: string, attempt: number) =>
      terminationLogPath(config.stateDir, { uid, container, attempt }),
    /** Host path of the file that is /etc/hosts in every container of the pod. */
    etcHosts: ({ uid }: DesiredPod) => etcHostsPath(config.stateDir, uid),
    /** Removes what the runtime leaves of a pod's cgroup. Never throws. */
    removeCgroup: (uid: PodUID) => {
      idRanges.forget(uid);
      cgroups.remove(uid);
    },
  };
}

type NodeSecurity = Pick<
  ContainerConfigFacts,
  "seccompDefault" | "seccompRoot" | "isFile" | "isDevice" | "isSelinuxNode" | "maskedPaths"
>;

/** The node's facts for security contexts. */
function securityFacts({ edges, config, devices }: PodConfigsOptions): NodeSecurity {
  const { files } = edges;
  return {
    seccompDefault: config.seccompDefault,
    seccompRoot: seccompRoot(config),
    isFile: (path) => files.target(path)?.kind === "file",
    isDevice: (path) => devices.has(path),
    isSelinuxNode: files.target(SELINUX) !== undefined,
    maskedPaths: throttlePaths(files),
  };
}

/** Paths to mask: the temperature of a processor is a side channel to other pods' secrets. */
function throttlePaths(files: Files): readonly string[] {
  if (files.target(CPUS) === undefined) return [];
  return files
    .list(CPUS)
    .filter(({ name }) => /^cpu[0-9]+$/.test(name))
    .map(({ name }) => `${CPUS}/${name}/thermal_throttle`)
    .filter((path) => files.target(path) !== undefined);
}

/** How requested memory is protected; nothing unless MemoryQoS is on. */
function memoryQos({ edges, config }: PodConfigsOptions): Pick<ResourcePolicy, "memoryQos"> {
  if (!hasMemoryQos(config, edges.cgroups.facts.version)) return {};
  const { memoryBytes } = nodeAllocatable(edges, config);
  const allocatable = BigInt(memoryBytes);
  return { memoryQos: { throttlingFactor: config.memoryThrottlingFactor, allocatable } };
}

/** Fails with the remedy, which the runtime's own error does not name. */
function requireMemoryCgroup({ name, resources }: Container, facts: CgroupFacts): void {
  const remedy = memoryCgroupRemedy(facts);
  if (remedy === undefined || resources.limits.memory === undefined) return;
  const message = `container "${name}" has a memory limit, but ${remedy}`;
  throw configError(message);
}

const ETC_RESOLV_CONF = "/etc/resolv.conf";
/** systemd-resolved writes the real name servers to this file. */
const RESOLVED_CONF = "/run/systemd/resolve/resolv.conf";
const RESOLV_CONF_BYTES = 64 * 1024;

/** Read for each sandbox, because a resolver may start after the agent. `configured`: `resolvConf`, used as it is. */
function nodeDns(files: Files, configured: string | undefined): DnsConfig {
  if (configured !== undefined) return readResolvConf(files, configured);
  const own = readResolvConf(files, ETC_RESOLV_CONF);
  return isOnlyStub(own) ? readResolvConf(files, RESOLVED_CONF) : own;
}

/** A missing file has no servers. */
function readResolvConf(files: Files, path: string): DnsConfig {
  const isThere = files.target(path) !== undefined;
  const text = isThere ? files.readFollowing(path, RESOLV_CONF_BYTES) : new Uint8Array();
  return parseResolvConf(new TextDecoder().decode(text));
}

/** The user ID range of each pod with hostUsers: false: from its sandboxes, or given here while its first one is created. */
export class IdRanges {
  readonly #observed: () => Iterable<ObservedPod>;
  readonly #given = new Map<PodUID, IdRange>();

  /** `observed`: every pod that the runtime has. */
  constructor(observed: () => Iterable<ObservedPod>) {
    this.#observed = observed;
  }

  /** Equal for all sandboxes of a pod: its volumes may contain files of these ids. */
  of(uid: PodUID): IdRange {
    const given = this.#given.get(uid);
    if (given !== undefined) return given;
    const written = [...this.#observed()].flatMap((pod) =>
      pod.sandboxes.flatMap(({ userNamespace }) =>
        userNamespace === undefined ? [] : [{ uid: pod.uid, range: userNamespace }],
      ),
    );
    const used = [...this.#given.values(), ...written.map(({ range }) => range)];
    const range = written.find((one) => one.uid === uid)?.range ?? freeIdRange(used);
    this.#given.set(uid, range);
    return range;
  }

  /** To be called when nothing of the pod is left. */
  forget(uid: PodUID): void {
    this.#given.delete(uid);
  }
}
