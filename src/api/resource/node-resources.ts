// What this node has, and what of it pods may ask for. kubelet: node capacity, Node Allocatable

import { add, amountsOf, subtract, type Amounts } from "./pod-requests-limits.ts";
import { canonicalQuantity, wholeUnits } from "./quantity.ts";
import type { ResourceList } from "../v1/resources.ts";

export interface NodeResources {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Page size ("2Mi") → bytes set aside for pages of it. */
  readonly hugePages: Readonly<Record<string, number>>;
  /** Of the file system that holds the state; absent = unknown. */
  readonly storageBytes?: number;
  readonly maxPods: number;
}

/** As the configuration has them. */
interface Reserves {
  readonly systemReserved: ResourceList;
  readonly kubeReserved: ResourceList;
}

export function nodeCapacity(node: NodeResources): Readonly<Record<string, string>> {
  const { storageBytes, hugePages } = node;
  return {
    cpu: String(node.cpus),
    memory: kibibytes(node.memoryBytes),
    ...(storageBytes === undefined ? {} : { "ephemeral-storage": kibibytes(storageBytes) }),
    ...Object.fromEntries(
      Object.entries(hugePages).map(([size, bytes]) => [
        `hugepages-${size}`,
        canonicalQuantity(kibibytes(bytes)) ?? "0",
      ]),
    ),
    pods: String(node.maxPods),
  };
}

/** Capacity less both reserves; what is set aside as huge pages is no ordinary memory any more. */
export function allocatableAmounts(node: NodeResources, reserves: Reserves): Amounts {
  const reserved = add(amountsOf(reserves.systemReserved), amountsOf(reserves.kubeReserved));
  const inPages = Object.values(node.hugePages).reduce((sum, bytes) => sum + bytes, 0);
  const pages: Amounts = new Map([["memory", BigInt(inPages) * 1_000n]]);
  return subtract(amountsOf(nodeCapacity(node)), add(reserved, pages));
}

/** The same as Kubernetes writes it in a node's status. */
export function nodeAllocatable(
  node: NodeResources,
  reserves: Reserves,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...allocatableAmounts(node, reserves)].map(([resource, milli]) => [
      resource,
      written(resource, milli),
    ]),
  );
}

function written(resource: string, milli: bigint): string {
  const bytes = kibibytes(Number(wholeUnits(milli)));
  if (resource === "memory" || resource === "ephemeral-storage") return bytes;
  const text = resource.startsWith("hugepages-") ? bytes : `${milli}m`;
  return canonicalQuantity(text) ?? "0";
}

function kibibytes(bytes: number): string {
  return `${Math.floor(bytes / 1024)}Ki`;
}
