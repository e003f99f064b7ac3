// Resources of a pod as a whole beside those of its containers. k8s: PodLevelResources

import { invalidValue } from "./field-reader.ts";
import type { Findings } from "./findings.ts";
import type { PodSpec, ResourceRequirements } from "./pod.ts";
import { amountIn, containerRequests } from "./pod-amounts.ts";
import { quantityText } from "./quantity.ts";

/** What a pod can ask for as a whole. k8s: IsSupportedPodLevelResource */
export function isPodLevelResource(resource: string): boolean {
  return resource === "cpu" || resource === "memory" || resource.startsWith("hugepages-");
}

/** Whether the pod as a whole says anything. k8s: IsPodLevelResourcesSet */
export function hasPodLevelResources({ limits, requests }: ResourceRequirements): boolean {
  return [...Object.keys(limits), ...Object.keys(requests)].some(isPodLevelResource);
}

/**
 * What a pod with limits does not ask for itself is what its containers ask for, else its limit. Without a limit of its own nothing is made
 * up. k8s: defaultPodRequests
 */
export function defaultPodRequests(spec: PodSpec): PodSpec {
  const { limits, requests } = spec.resources;
  if (Object.keys(limits).length === 0) return spec;
  const asked = [...containerRequests(spec)]
    .filter(([name]) => isPodLevelResource(name))
    .map(([name, milli]): [string, string] => [name, amountText(name, milli)]);
  const resources = { limits, requests: { ...limits, ...Object.fromEntries(asked), ...requests } };
  return { ...spec, resources };
}

/** Of `spec` after defaults. k8s: validatePodResourceConsistency */
export function validatePodResources(spec: PodSpec, findings: Findings): void {
  const { limits, requests } = spec.resources;
  if (!hasPodLevelResources(spec.resources)) return;
  for (const [name, asked] of containerRequests(spec)) {
    if (!isPodLevelResource(name) || asked <= amountIn(requests, name)) continue;
    const total = amountText(name, asked);
    const message = `must be greater than or equal to aggregate container requests of ${total}`;
    const path = ["spec", "resources", "requests", name];
    findings.fail(path, "Invalid", invalidValue(requests[name] ?? "0", message));
  }
  for (const [index, { resources }] of spec.containers.entries())
    for (const [name, limit] of Object.entries(resources.limits)) {
      const own = limits[name];
      if (own === undefined || amountIn(resources.limits, name) <= amountIn(limits, name)) continue;
      const path = ["spec", "containers", index, "resources", "limits", name];
      const message = `must be less than or equal to pod limits of ${own}`;
      findings.fail(path, "Invalid", invalidValue(limit, message));
    }
}

function amountText(resource: string, milli: bigint): string {
  return quantityText(milli, resource === "cpu" ? "Decimal" : "Binary");
}
