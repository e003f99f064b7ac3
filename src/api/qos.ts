// A pod's quality-of-service class. kubelet: ComputePodQOS

import type { Container, PodSpec, ResourceName } from "./pod.ts";
import { parseQuantity } from "./quantity.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const RESOURCES: readonly ResourceName[] = ["cpu", "memory"];

type Kind = "requests" | "limits";

/**
 * Init containers count as much as the others. BestEffort: no container asks for or limits anything; Guaranteed: every container limits both
 * resources and asks for exactly that; Burstable: the rest. An amount of zero counts as not written.
 */
export function qosClass(spec: Pick<PodSpec, "initContainers" | "containers">): QosClass {
  const containers = [...spec.initContainers, ...spec.containers];
  const amounts = containers.flatMap((container) =>
    RESOURCES.flatMap((resource) => [
      amount(container, "requests", resource),
      amount(container, "limits", resource),
    ]),
  );
  if (amounts.every((value) => value === 0n)) return "BestEffort";
  return containers.every(isGuaranteed) ? "Guaranteed" : "Burstable";
}

// Kubernetes compares sums over the pod; as no request may exceed its limit, that is the same.
function isGuaranteed(container: Container): boolean {
  return RESOURCES.every((resource) => {
    const limit = amount(container, "limits", resource);
    return limit > 0n && amount(container, "requests", resource) === limit;
  });
}

function amount(container: Container, kind: Kind, resource: ResourceName): bigint {
  const text = container.resources[kind][resource];
  const milli = text === undefined ? 0n : (parseQuantity(text) ?? 0n);
  return milli > 0n ? milli : 0n;
}
