// Pods and nodes as the local API shows them, for table tests.

import type { ContainerStatus } from "../../../src/api/v1/pod-status.ts";
import type { NodeView, PodView } from "../../../src/node/api-views.ts";

export function aStatus(name: string, over: Partial<ContainerStatus> = {}): ContainerStatus {
  return {
    name,
    state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
    lastState: {},
    ready: true,
    started: true,
    restartCount: 0,
    image: "busybox",
    imageID: "sha256:1",
    containerID: "containerd://1",
    ...over,
  };
}

export interface PodParts {
  readonly name?: string;
  readonly metadata?: Partial<PodView["metadata"]>;
  readonly spec?: Partial<PodView["spec"]>;
  readonly status?: PodView["status"];
}

export function aPod(parts: PodParts = {}): PodView {
  return {
    kind: "Pod",
    metadata: { name: parts.name ?? "web", namespace: "default", ...parts.metadata },
    spec: { containers: [{ name: "a" }], ...parts.spec },
    status: {
      phase: "Running",
      startTime: "2026-01-01T00:00:00Z",
      containerStatuses: [aStatus("a")],
      ...parts.status,
    },
  };
}

export function aNode(over: NodeView["status"] = {}): NodeView {
  return {
    kind: "Node",
    metadata: { name: "pi-1", creationTimestamp: "2026-01-01T00:00:00Z" },
    status: {
      conditions: [{ type: "Ready", status: "True", reason: "AgentReady", message: "" }],
      addresses: [{ type: "InternalIP", address: "192.168.1.5" }],
      nodeInfo: {
        kubeletVersion: "agent 0.1.0",
        osImage: "Debian 12",
        kernelVersion: "6.1",
        architecture: "arm64",
        containerRuntimeVersion: "containerd://1.7.24",
      },
      ...over,
    },
  };
}
