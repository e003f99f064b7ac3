// Performs: turns pods into CRI messages: gives the pure functions of cri-config/ the node's facts.

import type { DesiredPod } from "../api/pod/desired-pod.ts";
import { podEvent, type RecordEvent } from "../api/v1/events.ts";
import { podLogDirectory } from "../api/pod/log-paths.ts";
import type { ObservedPod } from "../api/pod/observed-pod.ts";
import type { PodUID } from "../api/v1/pod.ts";
import { qosClass } from "../api/resource/qos.ts";
import { memoryCgroupRemedy, type CgroupFacts } from "../host/cgroups.ts";
import type { Files } from "../host/files.ts";
import { AgentError } from "../lib/errors.ts";
import { cgroupParent } from "./cgroup/cgroup-parent.ts";
import { containerConfig, type ContainerConfigFacts } from "./cri-config/container-config.ts";
import type { RuntimeFeatures } from "./cri-config/features.ts";
import type { PodConfigs } from "./decide/action-input.ts";
import { etcHostsPath } from "./cri-config/hosts-file.ts";
import { podDns } from "./cri-config/pod-dns.ts";
import { runtimeHandlerOf } from "./cri-config/runtime-class.ts";
import { sandboxConfig } from "./cri-config/sandbox-config.ts";
import { terminationLogPath } from "./observe/termination-message.ts";
import type { Edges } from "../edges.ts";
import { IdRanges } from "./id-ranges.ts";
import { nodeDns } from "./cri-config/node-dns.ts";
import { PodCgroups, hugePageSizes, type PodCgroupsOptions } from "./cgroup/pod-cgroups.ts";
import type { Container } from "../api/v1/container.ts";

export interface PodConfigsOptions extends PodCgroupsOptions {
  readonly edges: Edges;
  readonly record: RecordEvent;
  /** Known once the runtime has answered, which is before the first pod is made. */
  readonly runtime: PodCgroupsOptions["runtime"] & { readonly features: RuntimeFeatures };
  /** Every pod that the runtime has. */
  readonly observed: () => Iterable<ObservedPod>;
  /** Whether this path is a device of the node, or a directory that may hold some. */
  readonly devices: { has(path: string): boolean };
}

export interface NodePodConfigs extends PodConfigs {
  /** Removes what the runtime leaves of a pod's cgroup; throws nothing. */
  removeCgroup(uid: PodUID): void;
}

/** There only while the kernel has SELinux switched on. */
const SELINUX = "/sys/fs/selinux/enforce";
const CPUS = "/sys/devices/system/cpu";

export function podConfigs(options: PodConfigsOptions): NodePodConfigs {
  const { edges, config } = options;
  const { files, machine } = edges;
  const { instance, podLogsDir } = config;
  const cgroups = new PodCgroups(options);
  const { facts: cgroupFacts } = edges.cgroups;
  const dns = ({ pod }: DesiredPod) => {
    const node = nodeDns(files, config.resolvConf);
    const { config: podConfig, said: events } = podDns(pod, { node, ...config });
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
    runtimeHandler: ({ pod }) => runtimeHandlerOf(pod, config.runtimeClasses),
    sandbox: (desired, { attempt, activeSince }) =>
      sandboxConfig(desired, {
        ...security,
        ...ofPod(desired),
        cpuCFSQuota: config.cpuCFSQuota,
        attempt,
        activeSince,
        bootId: edges.bootId,
        instance,
        podLogsDir,
        dns: dns(desired),
        clusterDomain: config.clusterDomain,
        cgroupParent: cgroupParent(cgroups.place(desired.uid, qosClass(desired.pod.spec))),
      }),
    prepareCgroup: (desired) => cgroups.prepare(desired),
    settleCgroup: (desired) => cgroups.settle(desired),
    container: (desired, container, facts) => {
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
      });
    },
    containerLogDirectory: ({ pod }, container) =>
      `${podLogDirectory(podLogsDir, pod.metadata)}/${container}`,
    terminationLog: ({ uid }, container, attempt) =>
      terminationLogPath(config.stateDir, { uid, container, attempt }),
    etcHosts: ({ uid }) => etcHostsPath(config.stateDir, uid),
    removeCgroup: (uid) => {
      idRanges.forget(uid);
      cgroups.remove(uid);
    },
  };
}

type NodeSecurity = Pick<
  ContainerConfigFacts,
  "seccompDefault" | "seccompRoot" | "isFile" | "isDevice" | "isSelinuxNode" | "maskedPaths"
>;

/** The node's part of a container's security context. */
function securityFacts({ edges, config, devices }: PodConfigsOptions): NodeSecurity {
  const { files } = edges;
  return {
    seccompDefault: config.seccompDefault,
    seccompRoot: `${config.stateDir}/seccomp`,
    isFile: (path) => files.target(path)?.kind === "file",
    isDevice: (path) => devices.has(path),
    isSelinuxNode: files.target(SELINUX) !== undefined,
    maskedPaths: throttlePaths(files),
  };
}

/** The temperature of a processor is a side channel to other pods' secrets. */
function throttlePaths(files: Files): readonly string[] {
  if (files.target(CPUS) === undefined) return [];
  return files
    .list(CPUS)
    .filter(({ name }) => /^cpu[0-9]+$/.test(name))
    .map(({ name }) => `${CPUS}/${name}/thermal_throttle`)
    .filter((path) => files.target(path) !== undefined);
}

/** Fails with the remedy before the runtime fails with a message that does not name it. */
function requireMemoryCgroup({ name, resources }: Container, facts: CgroupFacts): void {
  const remedy = memoryCgroupRemedy(facts);
  if (remedy === undefined || resources.limits.memory === undefined) return;
  const message = `container "${name}" has a memory limit, but ${remedy}`;
  throw new AgentError({ reason: "CreateContainerConfigError", message });
}
