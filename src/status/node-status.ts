// The status of the node from facts about the machine, the runtime and the agent. kubelet: node status setters

import type { NodeCondition, NodeStatus } from "../api/v1/pod-status.ts";
import { timed } from "./conditions.ts";

/** Facts about the machine; "" = unknown. */
export interface NodeMachine {
  readonly hostname: string;
  readonly machineId: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** As in Kubernetes: `amd64`, `arm64`. */
  readonly architecture: string;
}

/** One of the runtime's own conditions: `RuntimeReady`, `NetworkReady`. */
export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface NodeRuntime {
  readonly name: string;
  readonly version: string;
  readonly conditions: readonly RuntimeCondition[];
}

export interface NodeStatusInput {
  readonly machine: NodeMachine;
  /** The primary address first. */
  readonly addresses: readonly string[];
  /** undefined = the runtime does not answer. */
  readonly runtime: NodeRuntime | undefined;
  readonly agentVersion: string;
  readonly capacity: Readonly<Record<string, string>>;
  /** Capacity less what is reserved. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** Problems as sentences (PLEG, sync loop, …); empty = healthy. */
  readonly problems: readonly string[];
  /** The agent's own conditions (`DuplicateIdentity`, `BoardChanged`, …), listed last. */
  readonly extraConditions?: readonly NodeCondition[];
  readonly previous?: NodeStatus | undefined;
  /** Wall-clock milliseconds, for display only. */
  readonly now: number;
}

export function nodeStatus(input: NodeStatusInput): NodeStatus {
  const { machine, runtime, agentVersion, previous, now } = input;
  const conditions = [readiness(input), network(runtime), ...(input.extraConditions ?? [])];
  return {
    conditions: timed(conditions, previous?.conditions ?? [], now),
    addresses: [
      ...input.addresses.map((address) => ({ type: "InternalIP", address })),
      { type: "Hostname", address: machine.hostname },
    ],
    capacity: input.capacity,
    allocatable: input.allocatable,
    nodeInfo: {
      machineID: machine.machineId,
      bootID: machine.bootId,
      kernelVersion: machine.kernelVersion,
      osImage: machine.osImage,
      containerRuntimeVersion:
        runtime === undefined ? "" : `${runtime.name}://${runtime.version.replace(/^v/, "")}`,
      kubeletVersion: agentVersion,
      operatingSystem: "linux",
      architecture: machine.architecture,
    },
  };
}

function readiness({ runtime, problems }: NodeStatusInput): NodeCondition {
  const all = [...runtimeProblems(runtime), ...problems];
  if (all.length === 0)
    return {
      type: "Ready",
      status: "True",
      reason: "KubeletReady",
      message: "the agent is posting ready status",
    };
  return { type: "Ready", status: "False", reason: "KubeletNotReady", message: all.join("; ") };
}

function runtimeProblems(runtime: NodeRuntime | undefined): readonly string[] {
  if (runtime === undefined) return ["the container runtime does not answer"];
  const ready = runtime.conditions.find(({ type }) => type === "RuntimeReady");
  // A runtime that answers without this condition counts as ready.
  if (ready === undefined || ready.status) return [];
  return [`the container runtime is not ready: ${because(ready)}`];
}

// Unlike the kubelet's, the node stays Ready without a network plugin: hostNetwork pods run.
function network(runtime: NodeRuntime | undefined): NodeCondition {
  const type = "NetworkUnavailable";
  const ready = runtime?.conditions.find((condition) => condition.type === "NetworkReady");
  if (ready === undefined)
    return {
      type,
      status: "Unknown",
      reason: "RuntimeUnknown",
      message: "the container runtime does not report whether its network is ready",
    };
  if (ready.status)
    return { type, status: "False", reason: "NetworkReady", message: "the pod network is ready" };
  return {
    type,
    status: "True",
    reason: ready.reason === "" ? "NetworkPluginNotReady" : ready.reason,
    message: `pods without hostNetwork wait: ${because(ready)}`,
  };
}

function because({ reason, message }: RuntimeCondition): string {
  return [reason, message].filter((text) => text !== "").join(": ") || "no reason given";
}
