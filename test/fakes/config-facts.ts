// What the node says to the functions that turn a pod into CRI's messages: a case names only what differs.

import type { ContainerConfigFacts } from "../../src/runtime/cri-config/container-config.ts";
import { NO_FEATURES, type RuntimeFeatures } from "../../src/runtime/cri-config/features.ts";
import type { SandboxFacts } from "../../src/runtime/cri-config/sandbox-config.ts";

/** A runtime that can everything. */
export const ALL_FEATURES: RuntimeFeatures = {
  handlers: new Map([["", { userNamespaces: true, recursiveReadOnly: true }]]),
  supplementalGroupsPolicy: true,
  imageVolumes: true,
  imageSubPaths: true,
  cdi: true,
  stopSignal: true,
  selinux: true,
};

/** A node like Debian 12 with its own containerd: nothing beyond the oldest CRI v1. */
export function containerFacts(more: Partial<ContainerConfigFacts> = {}): ContainerConfigFacts {
  return {
    attempt: 0,
    image: { ref: "sha256:1234", username: "" },
    env: [],
    volumes: new Map(),
    subPaths: new Map(),
    imageVolumes: new Map(),
    features: NO_FEATURES,
    runtimeHandler: "",
    isSelinuxNode: false,
    seccompDefault: false,
    seccompRoot: "/state/seccomp",
    isFile: () => false,
    isDevice: () => false,
    maskedPaths: [],
    instance: "default",
    cgroupVersion: 2,
    memoryBytes: 4 * 1024 ** 3,
    ...more,
  };
}

export function sandboxFacts(more: Partial<SandboxFacts> = {}): SandboxFacts {
  return {
    attempt: 0,
    instance: "default",
    podLogsDir: "/var/log/pods",
    dns: { servers: [], searches: [], options: [] },
    clusterDomain: "",
    cgroupParent: "",
    features: NO_FEATURES,
    isSelinuxNode: false,
    runtimeHandler: "",
    cpuCFSQuota: true,
    ...more,
  };
}
