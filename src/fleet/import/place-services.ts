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

type Stages = ReadonlyMap<string, (typeof STAGES)[number]>;

/**
 * The value of `agent/depends-on` of each pod. What would be waited for for ever is left out, with a remark: a pod that does not
 * exist, one that never ends, one that waits for this one.
 */
export function dependenciesOf(placed: readonly PlacedService[]): {
  readonly annotations: ReadonlyMap<string, string>;
  readonly remarks: readonly Remark[];
} {
  const remarks: Remark[] = [];
  const byName = new Map(placed.map((service) => [service.name, service]));
  const restarts = new Set(
    placed.flatMap(({ pod, restart }) => (restart === "Always" ? [pod] : [])),
  );
  const waits = new Map<string, Stages>();
  for (const { name: place, pod, dependsOn } of placed)
    for (const [service, wanted] of Object.entries(dependsOn)) {
      const known = waits.get(pod) ?? new Map();
      const other = byName.get(service)?.pod;
      const why = whyNot({ service, wanted, other, pod, waits });
      if (why !== undefined) remarks.push({ place, message: `does not wait for ${service}${why}` });
      if (other === undefined || other === pod || why !== undefined) continue;
      const isEndless = wanted === "Succeeded" && restarts.has(other);
      if (isEndless)
        remarks.push({ place, message: `only waits for ${service} to run, which restarts always` });
      waits.set(pod, withStage(known, other, isEndless ? "Running" : wanted));
    }
  const annotations = [...waits].map(([pod, stages]): [string, string] => [
    pod,
    [...stages].map(([other, stage]) => `${other}:${stage}`).join(","),
  ]);
  return { annotations: new Map(annotations), remarks };
}

interface Wait {
  readonly service: string;
  readonly wanted: (typeof STAGES)[number];
  /** The pod of the service; undefined = it is not imported. */
  readonly other: string | undefined;
  readonly pod: string;
  readonly waits: ReadonlyMap<string, Stages>;
}

/** undefined = it can wait, or need not. */
function whyNot({ wanted, other, pod, waits }: Wait): string | undefined {
  if (other === undefined) return ", which is not imported";
  if (other === pod)
    return wanted === "Running" ? undefined : ": the containers of a pod start together";
  return reaches(other, pod, waits) ? `: the pod ${other} waits for the pod ${pod}` : undefined;
}

function reaches(from: string, to: string, waits: ReadonlyMap<string, Stages>): boolean {
  const seen = new Set([from]);
  for (const pod of seen) for (const next of waits.get(pod)?.keys() ?? []) seen.add(next);
  return seen.has(to);
}

function withStage(known: Stages, pod: string, stage: (typeof STAGES)[number]): Stages {
  const before = known.get(pod);
  const isMore = before === undefined || STAGES.indexOf(stage) > STAGES.indexOf(before);
  return isMore ? new Map([...known, [pod, stage]]) : known;
}
