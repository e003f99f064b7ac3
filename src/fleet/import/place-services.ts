// Decides which pod each service runs in, and which pods a pod waits for.

import type { Remark, Service } from "./service.ts";

export type PlacedService = Service & { readonly pod: string };

/** Every service with a name of its own, and the pod at the end of its chain of shared networks. */
export function placeServices(services: readonly Service[]): {
  readonly placed: readonly PlacedService[];
  readonly remarks: readonly Remark[];
} {
  const remarks: Remark[] = [];
  const byName = new Map<string, Service>();
  for (const service of services) {
    const { name } = service;
    if (name === "")
      remarks.push({
        place: "a service",
        message: "its name has no letter or digit",
        isError: true,
      });
    else if (byName.has(name))
      remarks.push({
        place: name,
        message: "two services would have this name, and the first is written: rename one",
        isError: true,
      });
    else byName.set(name, service);
  }
  const placed = [...byName.values()].map((service) => {
    const pod = lastPod(service, byName);
    if (pod !== undefined) return { ...service, pod };
    const message = "services share a network in a circle; it gets a pod of its own";
    remarks.push({ place: service.name, message, isError: true });
    return { ...service, pod: service.name };
  });
  return { placed, remarks };
}

/** undefined = the chain is a circle. */
function lastPod(service: Service, byName: ReadonlyMap<string, Service>): string | undefined {
  const seen = new Set([service.name]);
  let pod = service.pod ?? service.name;
  for (let next = byName.get(pod)?.pod; next !== undefined && next !== pod;) {
    if (seen.has(pod)) return undefined;
    seen.add(pod);
    pod = next;
    next = byName.get(pod)?.pod;
  }
  return pod;
}

/** From the least to the most. */
const STAGES = ["Running", "Ready", "Succeeded"] as const;

/**
 * The value of `agent/depends-on`; containers of one pod start together. A pod that does not exist would be waited for for ever,
 * so it is left out, with a remark.
 */
export function dependenciesOf(
  members: readonly PlacedService[],
  podOfService: ReadonlyMap<string, string>,
): { readonly annotation: string; readonly remarks: readonly Remark[] } {
  const remarks: Remark[] = [];
  const stages = new Map<string, (typeof STAGES)[number]>();
  for (const { name, pod: own, dependsOn } of members)
    for (const [service, stage] of Object.entries(dependsOn)) {
      const pod = podOfService.get(service);
      if (pod === undefined) {
        remarks.push({
          place: name,
          message: `does not wait for ${service}, which is not imported`,
        });
        continue;
      }
      const known = stages.get(pod);
      const isMore = known === undefined || STAGES.indexOf(stage) > STAGES.indexOf(known);
      if (pod !== own && isMore) stages.set(pod, stage);
      if (pod === own && stage !== "Running") {
        const message = `does not wait for ${service}: the containers of a pod start together`;
        remarks.push({ place: name, message });
      }
    }
  const annotation = [...stages].map(([pod, stage]) => `${pod}:${stage}`).join(",");
  return { annotation, remarks };
}
