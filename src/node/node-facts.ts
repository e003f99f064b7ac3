// Performs: the facts about this node for admission and its status: labels, resources, addresses, kernel features.

import type { AgentConfig } from "../config/config.ts";
import { isOwnLabel } from "../protocol/desired-state.ts";
import type { FleetFacts, GroupMember } from "../protocol/groups.ts";
import type { NodeIdentities } from "../api/pod/node-config-map.ts";
import { nodeAllocatable, nodeCapacity } from "../api/resource/node-resources.ts";
import type { NodeStatus } from "../api/v1/pod-status.ts";
import type { NodeInfo } from "../source/admission/admit-pod.ts";
import { localLabels } from "../source/admission/node-affinity.ts";
import type { Edges } from "../edges.ts";
import type { Monotonic } from "../lib/clock.ts";
import { allocatableOf } from "../runtime/cgroup/node-allocatable.ts";

export interface NodeFactsOptions {
  readonly edges: Pick<Edges, "machine">;
  readonly config: AgentConfig;
  readonly nodeName: string;
  /** The labels and groups that the fleet currently assigns; absent = none. */
  readonly fleet?: () => FleetFacts;
}

/** Addresses seldom change, and the system call is not free. */
const ADDRESSES_MS = 60_000;

/** The node's primary address of each family, like the kubelet's; addresses of pod bridges do not count. */
export class NodeAddresses {
  readonly #edges: Pick<Edges, "clock" | "addresses">;
  #known: readonly string[] = [];
  #readAt: Monotonic | undefined;

  constructor(edges: Pick<Edges, "clock" | "addresses">) {
    this.#edges = edges;
  }

  hostIPs(): readonly string[] {
    const { clock, addresses } = this.#edges;
    const now = clock.monotonic();
    if (this.#readAt === undefined || now - this.#readAt > ADDRESSES_MS) {
      const all = addresses();
      const main = ([4, 6] as const).map((family) => all.find((one) => one.family === family));
      this.#known = main.flatMap((one) => one?.address ?? []);
      this.#readAt = now;
    }
    return this.#known;
  }
}

/** What admission depends on; the labels are those of this moment. */
export function nodeInfo(options: NodeFactsOptions): NodeInfo {
  const { edges, config, nodeName } = options;
  const { machine } = edges;
  return {
    ...config,
    nodeName,
    labels: nodeLabels(options),
    ownLabels: ownLabels(options),
    allocatable: allocatableOf(edges, config),
    hasAppArmor: machine.hasAppArmor,
  };
}

/** The labels that pods of documents select by: no document replaces one of the node's own. */
export function nodeLabels(options: NodeFactsOptions): NodeInfo["labels"] {
  const added = Object.entries(options.fleet?.().labels ?? {}).filter(([key]) => !isOwnLabel(key));
  return { ...Object.fromEntries(added), ...ownLabels(options) };
}

/** Without those that every node has by itself: its status says the same. */
export function givenLabels(options: NodeFactsOptions): NodeInfo["labels"] {
  const given = Object.entries(nodeLabels(options)).filter(([key]) => !isOwnLabel(key));
  return Object.fromEntries(given);
}

/** Kubernetes' three and those of the configuration. */
function ownLabels({ edges, config, nodeName }: NodeFactsOptions): NodeInfo["ownLabels"] {
  const { architecture } = edges.machine;
  return localLabels({ nodeName, architecture }, config.nodeLabels);
}

/** What pods may read of their node. */
export function nodeIdentity(options: NodeFactsOptions): NodeIdentities {
  const { config, edges, fleet, nodeName: name } = options;
  const arch = edges.machine.architecture;
  const names = (groups: readonly GroupMember[] = []) => groups.map((group) => group.name);
  return {
    name,
    arch,
    labels: nodeLabels(options),
    groups: names(fleet?.().groups),
    own: { labels: ownLabels(options), groups: names(config.mqtt?.groups) },
  };
}

/** Capacity and allocatable as a node's status has them. */
export function nodeRoom({
  edges,
  config,
}: Omit<NodeFactsOptions, "nodeName">): Pick<NodeStatus, "capacity" | "allocatable"> {
  const resources = { ...edges.machine, maxPods: config.maxPods };
  return {
    capacity: nodeCapacity(resources),
    allocatable: nodeAllocatable(resources, config),
  };
}
