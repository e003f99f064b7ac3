// Fills the node's facts into the pure functions that turn a pod into CRI's messages.

import type { AgentConfig } from "../api/config.ts";
import { podLogDirectory } from "../api/log-paths.ts";
import type { Container, PodUID } from "../api/pod.ts";
import { qosClass, type QosClass } from "../api/qos.ts";
import { memoryCgroupRemedy, readCgroupFacts, type CgroupFacts } from "../host/cgroup.ts";
import { AgentError } from "../lib/errors.ts";
import {
  cgroupParent,
  podCgroupDirectories,
  type CgroupDriver,
  type CgroupTree,
} from "../runtime/cgroup-parent.ts";
import { containerConfig } from "../runtime/container-config.ts";
import type { PodConfigs } from "../runtime/action-input.ts";
import { parseResolvConf } from "../runtime/resolv-conf.ts";
import { sandboxConfig } from "../runtime/sandbox-config.ts";
import { supportsStopSignal, type RuntimeVersion } from "../runtime/stop-signal.ts";
import { terminationLogPath } from "../runtime/termination-message.ts";
import type { Edges } from "./edges.ts";

export interface PodConfigsOptions {
  readonly edges: Edges;
  readonly config: AgentConfig;
  /** Known once the runtime has answered, which is before the first pod is made. */
  readonly cgroupDriver: () => CgroupDriver;
  /** Likewise. */
  readonly runtimeVersion: () => RuntimeVersion | undefined;
}

export interface NodePodConfigs extends PodConfigs {
  /** Removes what the runtime leaves of a pod's cgroup; throws nothing. */
  readonly removeCgroup: (uid: PodUID) => void;
}

const UNKNOWN_RUNTIME: RuntimeVersion = { runtimeName: "", runtimeVersion: "" };
const RESOLV_CONF_BYTES = 64 * 1024;
const QOS: readonly QosClass[] = ["Guaranteed", "Burstable", "BestEffort"];

export function podConfigs(options: PodConfigsOptions): NodePodConfigs {
  const { edges, config, cgroupDriver, runtimeVersion } = options;
  const { files, machine } = edges;
  const { instance, podLogsDir, cgroupRoot, resolvConf } = config;
  const cgroups = readCgroupFacts();
  const { version, mountPoint } = cgroups;
  const cgroup = (uid: PodUID, qos: QosClass) => ({ uid, qos, driver: cgroupDriver(), cgroupRoot });
  const dns = () => {
    if (files.target(resolvConf) === undefined) return parseResolvConf("");
    return parseResolvConf(
      new TextDecoder().decode(files.readFollowing(resolvConf, RESOLV_CONF_BYTES)),
    );
  };
  const tree = (): CgroupTree => ({
    version,
    mountPoint,
    hierarchies: version === 2 ? [] : directoriesOf(edges, mountPoint),
  });
  return {
    sandbox: (desired, { attempt, activeSince }) =>
      sandboxConfig(desired, {
        attempt,
        activeSince,
        bootId: edges.bootId,
        instance,
        podLogsDir,
        dns: dns(),
        cgroupParent: cgroupParent(cgroup(desired.uid, qosClass(desired.pod.spec))),
      }),
    container: (desired, container, facts) => {
      requireMemoryCgroup(container, cgroups);
      return containerConfig(desired, container, {
        ...facts,
        stopSignals: supportsStopSignal(runtimeVersion() ?? UNKNOWN_RUNTIME),
        instance,
        cgroupVersion: version,
        memoryBytes: machine.memoryBytes,
      });
    },
    containerLogDirectory: ({ pod }, container) =>
      `${podLogDirectory(podLogsDir, pod.metadata)}/${container}`,
    terminationLog: ({ uid }, container, attempt) =>
      terminationLogPath(config.stateDir, { uid, container, attempt }),
    removeCgroup: (uid) => {
      // The spec may be forgotten, so its class is unknown: the pod lies in one of the three.
      for (const qos of QOS)
        for (const directory of podCgroupDirectories(cgroup(uid, qos), tree()))
          files.removeEmptyDirectory(directory);
    },
  };
}

/** Says what to do before the runtime fails with a sentence that nobody understands. */
function requireMemoryCgroup({ name, resources }: Container, facts: CgroupFacts): void {
  const remedy = memoryCgroupRemedy(facts);
  if (remedy === undefined || resources.limits.memory === undefined) return;
  const message = `container "${name}" has a memory limit, but ${remedy}`;
  throw new AgentError({ reason: "CreateContainerConfigError", message });
}

function directoriesOf({ files }: Edges, mountPoint: string): readonly string[] {
  return files
    .list(mountPoint)
    .filter(({ kind }) => kind === "directory")
    .map(({ name }) => name);
}
