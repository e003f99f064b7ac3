// Selects the container instances to probe, and their address. kubelet: probeManager.AddPod

import {
  type ObservedContainer,
  type ObservedPod,
  newestContainer,
} from "../api/pod/observed-pod.ts";
import type { Probe, ProbeKind } from "../api/v1/probe.ts";
import type { PodSpec } from "../api/v1/pod-spec.ts";
import { allContainers, isSidecar, type Pod } from "../api/v1/pod.ts";
import type { Container } from "../api/v1/container.ts";

export interface ProbedInstance {
  readonly container: Container;
  readonly instance: ObservedContainer;
}

/** Startup first: the others wait for it. */
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
  return allContainers(spec).some(isProbed);
}

/** Containers and sidecars with a probe whose newest instance runs; plain init containers are not probed. */
export function probedInstances(
  { spec }: Pod,
  observed: ObservedPod | undefined,
): readonly ProbedInstance[] {
  if (observed === undefined) return [];
  return allContainers(spec).flatMap((container) => {
    const probed =
      isProbed(container) &&
      (!spec.initContainers.includes(container) || isSidecar(spec, container));
    const instance = probed ? newestContainer(observed, container.name) : undefined;
    return instance?.state === "Running" ? [{ container, instance }] : [];
  });
}

/** The address of the instance's own sandbox, even if there is a newer one. undefined = unknown yet. */
export function instanceAddress(
  observed: ObservedPod | undefined,
  containerId: string,
): string | undefined {
  const sandboxId = observed?.containers.find(({ id }) => id === containerId)?.sandboxId;
  return observed?.sandboxes.find(({ id }) => id === sandboxId)?.ips[0];
}

function isProbed(container: Container): boolean {
  return PROBE_KINDS.some((kind) => probeOf(container, kind) !== undefined);
}
