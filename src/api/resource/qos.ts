// A pod's quality-of-service class. kubelet: ComputePodQOS

import type { PodSpec } from "../v1/pod-spec.ts";
import { hasPodLevelResources } from "../validation/pod-level-resources.ts";
import { amountIn } from "./pod-requests-limits.ts";
import type { ResourceRequirements } from "../v1/resources.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const RESOURCES = ["cpu", "memory"] as const;

/**
 * Of the pod's own resources if it has any, else of its containers', init containers as much as the others. BestEffort: nothing is asked for
 * or limited; Guaranteed: both resources are limited everywhere and exactly that is asked for; Burstable: the rest. An amount of zero counts
 * as not written.
 */
export function qosClass(
  spec: Pick<PodSpec, "initContainers" | "containers" | "resources">,
): QosClass {
  const parts = hasPodLevelResources(spec.resources)
    ? [spec.resources]
    : [...spec.initContainers, ...spec.containers].map((container) => container.resources);
  const amounts = parts.flatMap((part) =>
    RESOURCES.flatMap((resource) => [
      amountIn(part.requests, resource),
      amountIn(part.limits, resource),
    ]),
  );
  if (amounts.every((value) => value === 0n)) return "BestEffort";
  return parts.every(isGuaranteed) ? "Guaranteed" : "Burstable";
}

// Kubernetes compares sums over the pod; as no request may exceed its limit, that is the same.
function isGuaranteed(resources: ResourceRequirements): boolean {
  return RESOURCES.every((resource) => {
    const limit = amountIn(resources.limits, resource);
    return limit > 0n && amountIn(resources.requests, resource) === limit;
  });
}
