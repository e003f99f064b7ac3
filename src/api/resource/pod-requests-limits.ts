// What a whole pod asks for and may use at most. kubelet: PodRequests, PodLimits

import type { PodSpec } from "../v1/pod-spec.ts";
import { parseQuantity } from "./quantity.ts";
import { isPodLevelResource, type ResourceList } from "../v1/resources.ts";

/** By resource, in thousandths of its unit (cores, bytes, pieces). */
export type Amounts = ReadonlyMap<string, bigint>;

interface PodLimits {
  readonly amounts: Amounts;
  /** Whether every container, or the pod as a whole, has a limit: else the sum limits nothing. */
  readonly isDeclared: (resource: "cpu" | "memory") => boolean;
}

type Kind = "requests" | "limits";
type Spec = Pick<PodSpec, "initContainers" | "containers" | "resources" | "overhead">;

/** What has to be free for the pod, its overhead included. */
export function podRequests(spec: Spec): Amounts {
  const requests = withPodLevel(sumOfContainers(spec, "requests"), spec.resources.requests);
  return add(requests, amountsOf(spec.overhead));
}

export function podLimits(spec: Spec): PodLimits {
  const limits = withPodLevel(sumOfContainers(spec, "limits"), spec.resources.limits);
  // Overhead lifts a limit that is there; it makes none.
  const overhead = [...amountsOf(spec.overhead)].filter(([name]) => (limits.get(name) ?? 0n) > 0n);
  return {
    amounts: add(limits, new Map(overhead)),
    isDeclared: (resource) =>
      amountIn(spec.resources.limits, resource) > 0n ||
      [...spec.initContainers, ...spec.containers].every(
        (container) => amountIn(container.resources.limits, resource) > 0n,
      ),
  };
}

/** Thousandths; what is absent or negative is 0. */
export function amountIn(list: ResourceList, resource: string): bigint {
  const text = Object.hasOwn(list, resource) ? list[resource] : undefined;
  const milli = parseQuantity(text ?? "") ?? 0n;
  return milli > 0n ? milli : 0n;
}

export function amountsOf(list: ResourceList): Amounts {
  return new Map(Object.keys(list).map((resource) => [resource, amountIn(list, resource)]));
}

export function add(one: Amounts, other: Amounts): Amounts {
  return merged(one, other, (a, b) => a + b);
}

/** Of each resource the larger amount. */
export function larger(one: Amounts, other: Amounts): Amounts {
  return merged(one, other, (a, b) => (a > b ? a : b));
}

/** Down to nothing, never below. */
export function subtract(one: Amounts, other: Amounts): Amounts {
  return new Map(
    [...one].map(([name, amount]) => {
      const left = amount - (other.get(name) ?? 0n);
      return [name, left > 0n ? left : 0n];
    }),
  );
}

/**
 * Of the containers alone, without the pod's own and its overhead. kubelet: AggregateContainerRequests, AggregateContainerLimits
 *
 * Sidecars run beside everything that starts after them; other init containers run alone, one after the other. So
 * the most at any time counts: some init container with the sidecars before it, or all sidecars and app containers.
 */
export function sumOfContainers({ initContainers, containers }: Spec, kind: Kind): Amounts {
  const sidecars = new Map<string, bigint>();
  const starting = new Map<string, bigint>();
  for (const { resources, restartPolicy } of initContainers)
    for (const [name, amount] of amountsOf(resources[kind])) {
      const together = (sidecars.get(name) ?? 0n) + amount;
      if (restartPolicy === "Always") sidecars.set(name, together);
      if (together > (starting.get(name) ?? -1n)) starting.set(name, together);
    }
  const running = new Map(sidecars);
  for (const { resources } of containers)
    for (const [name, amount] of amountsOf(resources[kind]))
      running.set(name, (running.get(name) ?? 0n) + amount);
  return larger(running, starting);
}

/** An amount of the pod as a whole outweighs the sum of its containers. kubelet: IsSupportedPodLevelResource */
function withPodLevel(sum: Amounts, written: ResourceList): Amounts {
  const own = [...amountsOf(written)].filter(([name]) => isPodLevelResource(name));
  return new Map([...sum, ...own]);
}

function merged(one: Amounts, other: Amounts, both: (a: bigint, b: bigint) => bigint): Amounts {
  const result = new Map(one);
  for (const [name, amount] of other) result.set(name, both(result.get(name) ?? 0n, amount));
  return result;
}
