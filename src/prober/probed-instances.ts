// Which instances of a pod's containers are asked, and where they are reached. kubelet: probeManager.AddPod

import type { ObservedContainer, ObservedPod } from "../api/observed-pod.ts";
import {
  allContainers,
  isSidecar,
  type Container,
  type Pod,
  type PodSpec,
  type Probe,
} from "../api/pod.ts";
import type { ProbeKind } from "../api/probe-verdicts.ts";

export interface ProbedInstance {
  readonly container: Container;
  readonly instance: ObservedContainer;
}

/** Startup first: it decides about the others. */
export const PROBE_KINDS: readonly ProbeKind[] = ["startup", "liveness", "readiness"];

export function probeOf(container: Container, kind: ProbeKind): Probe | undefined {
  switch (kind) {
    case "liveness":
      return container.livenessProbe;
    case "readiness":
      return container.readinessProbe;
    case "startup":
      return container.startupProbe;
  }
}

export function hasProbes(spec: PodSpec): boolean {
  return spec.containers.some(isProbed) || spec.initContainers.some(isProbed);
}

/** Containers and sidecars with a probe whose newest instance runs; init containers end by themselves. */
export function probedInstances(
  { spec }: Pod,
  observed: ObservedPod | undefined,
): readonly ProbedInstance[] {
  if (observed === undefined) return [];
  return allContainers(spec).flatMap((container) => {
    const probed =
      isProbed(container) &&
      (!spec.initContainers.includes(container) || isSidecar(spec, container));
    const instance = probed ? newestOf(container.name, observed) : undefined;
    return instance?.state === "Running" ? [{ container, instance }] : [];
  });
}

/** The pod's own address; undefined = not known yet. `hostIP`: the node's, if it has one. */
export function podAddress(
  { spec }: Pod,
  observed: ObservedPod | undefined,
  hostIP: () => string | undefined,
): string | undefined {
  if (spec.hostNetwork) return hostIP() ?? "127.0.0.1";
  let newest: ObservedPod["sandboxes"][number] | undefined;
  for (const sandbox of observed?.sandboxes ?? [])
    if (newest === undefined || sandbox.attempt > newest.attempt) newest = sandbox;
  return newest?.ips[0];
}

function isProbed(container: Container): boolean {
  return PROBE_KINDS.some((kind) => probeOf(container, kind) !== undefined);
}

// Newest is the highest attempt: creation times come from a clock that jumps.
function newestOf(name: string, { containers }: ObservedPod): ObservedContainer | undefined {
  let newest: ObservedContainer | undefined;
  for (const container of containers)
    if (container.name === name && (newest === undefined || container.attempt > newest.attempt))
      newest = container;
  return newest;
}
