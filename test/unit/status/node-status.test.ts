import { describe, expect, test } from "bun:test";
import {
  nodeStatus,
  type NodeRuntime,
  type NodeStatusInput,
} from "../../../src/status/node-status.ts";

const runtime: NodeRuntime = {
  name: "containerd",
  version: "v1.7.24",
  networkReady: true,
  networkMessage: "",
};

const base: NodeStatusInput = {
  machine: {
    hostname: "pi-1",
    machineId: "0123",
    systemUuid: "89ab",
    kernelVersion: "6.12.0",
    osImage: "Debian GNU/Linux 12 (bookworm)",
    architecture: "arm64",
  },
  bootId: "4567",
  addresses: ["192.0.2.7", "2001:db8::7"],
  runtime,
  agentVersion: "v0.1.0",
  capacity: { cpu: "4", memory: "3906250Ki", pods: "110" },
  allocatable: { cpu: "3500m", memory: "3644106Ki", pods: "110" },
  problems: [],
  now: Date.parse("2026-11-21T10:00:00Z"),
};

test("the whole status of a healthy node", () => {
  expect(nodeStatus(base)).toEqual({
    conditions: [
      {
        type: "Ready",
        status: "True",
        reason: "KubeletReady",
        message: "the agent is posting ready status",
        lastTransitionTime: "2026-11-21T10:00:00Z",
      },
      {
        type: "NetworkUnavailable",
        status: "False",
        reason: "NetworkReady",
        message: "the pod network is ready",
        lastTransitionTime: "2026-11-21T10:00:00Z",
      },
    ],
    addresses: [
      { type: "InternalIP", address: "192.0.2.7" },
      { type: "InternalIP", address: "2001:db8::7" },
      { type: "Hostname", address: "pi-1" },
    ],
    capacity: { cpu: "4", memory: "3906250Ki", pods: "110" },
    allocatable: { cpu: "3500m", memory: "3644106Ki", pods: "110" },
    nodeInfo: {
      machineID: "0123",
      systemUUID: "89ab",
      bootID: "4567",
      kernelVersion: "6.12.0",
      osImage: "Debian GNU/Linux 12 (bookworm)",
      containerRuntimeVersion: "containerd://1.7.24",
      kubeletVersion: "v0.1.0",
      operatingSystem: "linux",
      architecture: "arm64",
    },
  });
});

describe("nodeStatus", () => {
  const conditions = (more: Partial<NodeStatusInput>): Record<string, string> =>
    Object.fromEntries(
      nodeStatus({ ...base, ...more }).conditions.map((c) => [
        c.type,
        `${c.status} ${c.reason}: ${c.message}`,
      ]),
    );

  test("is not ready while the runtime does not answer", () => {
    expect(conditions({ runtime: undefined })).toEqual({
      Ready: "False KubeletNotReady: the container runtime does not answer",
      NetworkUnavailable:
        "Unknown RuntimeUnknown: the container runtime does not report whether its network is ready",
    });
  });

  test("names everything that is stuck", () => {
    expect(conditions({ problems: ["PLEG is stuck", "the sync loop is stuck"] })["Ready"]).toBe(
      "False KubeletNotReady: PLEG is stuck; the sync loop is stuck",
    );
  });

  test("stays ready without a network plugin, for the pods that need none", () => {
    const offline = {
      ...runtime,
      networkReady: false,
      networkMessage: "cni plugin not initialized",
    };
    expect(conditions({ runtime: offline })).toEqual({
      Ready: "True KubeletReady: the agent is posting ready status",
      NetworkUnavailable:
        "True NetworkPluginNotReady: pods without hostNetwork wait: NetworkPluginNotReady: cni plugin not initialized",
    });
  });

  test("names the network's reason alone if the runtime gives no message", () => {
    const offline = { ...runtime, networkReady: false };
    expect(conditions({ runtime: offline })["NetworkUnavailable"]).toBe(
      "True NetworkPluginNotReady: pods without hostNetwork wait: NetworkPluginNotReady",
    );
  });

  test("keeps a condition's time until its status changes", () => {
    const previous = nodeStatus({ ...base, now: 0 });
    const next = nodeStatus({ ...base, previous, problems: ["PLEG is stuck"] });
    expect(next.conditions.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual([
      "2026-11-21T10:00:00Z",
      "1970-01-01T00:00:00Z",
    ]);
  });

  test("adds the conditions of others", () => {
    const ours = { type: "BoardChanged", status: "True", reason: "Serial", message: "x" } as const;
    const last = nodeStatus({ ...base, extraConditions: [ours] }).conditions.at(-1);
    expect(last).toEqual({ ...ours, lastTransitionTime: "2026-11-21T10:00:00Z" });
  });
});
