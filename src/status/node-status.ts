// The status of the node from facts about the machine, the runtime and the agent. kubelet: node status setters

import type { NodeCondition, NodeStatus } from "../api/v1/pod-status.ts";
import type { MachineFacts } from "../host/machine.ts";
import { timed } from "./pod-conditions.ts";

export interface NodeRuntime {
  readonly name: string;
  readonly version: string;
  readonly networkReady: boolean;
  /** Why its network is not ready; "" = it gives no reason. */
  readonly networkMessage: string;
}

export interface NodeStatusInput {
  /** A text that is "" is unknown. */
  readonly machine: Pick<
    MachineFacts,
    "hostname" | "machineId" | "systemUuid" | "kernelVersion" | "osImage" | "architecture"
  >;
  readonly bootId: string;
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
      systemUUID: machine.systemUuid,
      bootID: input.bootId,
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
  const silent = runtime === undefined ? ["the container runtime does not answer"] : [];
  const all = [...silent, ...problems];
  if (all.length === 0)
    return {
      type: "Ready",
      status: "True",
      reason: "KubeletReady",
      message: "the agent is posting ready status",
    };
  return { type: "Ready", status: "False", reason: "KubeletNotReady", message: all.join("; ") };
}

// Unlike the kubelet's, the node stays Ready without a network plugin: hostNetwork pods run.
function network(runtime: NodeRuntime | undefined): NodeCondition {
  const type = "NetworkUnavailable";
  if (runtime === undefined)
    return {
      type,
      status: "Unknown",
      reason: "RuntimeUnknown",
      message: "the container runtime does not report whether its network is ready",
    };
  const { networkReady, networkMessage } = runtime;
  if (networkReady)
    return { type, status: "False", reason: "NetworkReady", message: "the pod network is ready" };
  const reason = "NetworkPluginNotReady";
  const why = networkMessage === "" ? reason : `${reason}: ${networkMessage}`;
  return { type, status: "True", reason, message: `pods without hostNetwork wait: ${why}` };
}
