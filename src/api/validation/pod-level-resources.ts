// Resources of a pod as a whole beside those of its containers. k8s: PodLevelResources

import type { Findings } from "../decode/field-errors.ts";
import type { PodSpec } from "../v1/pod-spec.ts";
import { amountIn, sumOfContainers, type Amounts } from "../resource/pod-requests-limits.ts";
import { quantityText } from "../resource/quantity.ts";
import {
  isHugePages,
  isPodLevelResource,
  judgeRequirements,
  type ResourceList,
  type ResourceRequirements,
} from "../v1/resources.ts";

/** Whether resources of the pod as a whole are set. k8s: IsPodLevelResourcesSet */
export function hasPodLevelResources({ limits, requests }: ResourceRequirements): boolean {
  return [...Object.keys(limits), ...Object.keys(requests)].some(isPodLevelResource);
}

/** Defaults of a pod with resources of its own. k8s: SetDefaults_Pod */
export function defaultPodResources(spec: PodSpec): PodSpec {
  const { limits, requests } = spec.resources;
  if (Object.keys(limits).length === 0 && Object.keys(requests).length === 0) return spec;
  return withDefaultRequests(withHugePageLimits(spec));
}

/** Huge pages are not shared between pods, so the pod's limit is the sum of its containers. k8s: defaultHugePagePodLimits */
function withHugePageLimits(spec: PodSpec): PodSpec {
  const { limits, requests } = spec.resources;
  const pages = textsOf(sumOfContainers(spec, "limits"), isHugePages);
  return { ...spec, resources: { limits: { ...pages, ...limits }, requests } };
}

/**
 * What a pod with limits does not ask for itself is what its containers ask for, else its limit. Without a limit of its own nothing is made
 * up. k8s: defaultPodRequests
 */
function withDefaultRequests(spec: PodSpec): PodSpec {
  const { limits, requests } = spec.resources;
  if (Object.keys(limits).length === 0) return spec;
  const asked = textsOf(
    sumOfContainers(spec, "requests"),
    (name) => isPodLevelResource(name) && !isHugePages(name),
  );
  return { ...spec, resources: { limits, requests: { ...limits, ...asked, ...requests } } };
}

function textsOf(amounts: Amounts, isWanted: (resource: string) => boolean): ResourceList {
  const wanted = [...amounts].filter(([name]) => isWanted(name));
  return Object.fromEntries(wanted.map(([name, milli]) => [name, amountText(name, milli)]));
}

/** Of `spec` after defaults, with what they have made of its requests. k8s: validatePodResources, validatePodResourceConsistency */
export function validatePodResources(spec: PodSpec, findings: Findings): void {
  const { limits, requests } = spec.resources;
  judgeRequirements(spec.resources, { findings, path: ["spec", "resources"] });
  if (!hasPodLevelResources(spec.resources)) return;
  for (const [name, asked] of sumOfContainers(spec, "requests")) {
    if (!isPodLevelResource(name) || asked <= amountIn(requests, name)) continue;
    const total = amountText(name, asked);
    const message = `must be greater than or equal to aggregate container requests of ${total}`;
    const path = ["spec", "resources", "requests", name];
    findings.invalid(path, requests[name] ?? "0", message);
  }
  for (const [index, { resources }] of spec.containers.entries())
    for (const [name, limit] of Object.entries(resources.limits)) {
      const own = limits[name];
      if (own === undefined || amountIn(resources.limits, name) <= amountIn(limits, name)) continue;
      const path = ["spec", "containers", index, "resources", "limits", name];
      const message = `must be less than or equal to pod limits of ${own}`;
      findings.invalid(path, limit, message);
    }
}

function amountText(resource: string, milli: bigint): string {
  return quantityText(milli, resource === "cpu" ? "Decimal" : "Binary");
}
