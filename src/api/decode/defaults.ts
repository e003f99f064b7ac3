// What a pod means by what it leaves out. The only place of Kubernetes' defaults. k8s: SetDefaults_Pod

import type { PodSpec } from "../v1/pod-spec.ts";
import { defaultPodResources } from "../validation/pod-level-resources.ts";
import type { ResourceRequirements } from "../v1/resources.ts";
import type { ContainerPort } from "../v1/container-ports.ts";
import type { Container } from "../v1/container.ts";

/** A limit without a request is also the request. */
export function defaultRequests(resources: ResourceRequirements): ResourceRequirements {
  return { limits: resources.limits, requests: { ...resources.limits, ...resources.requests } };
}

/** On the host's network every port is a host port. */
export function defaultHostPorts(
  ports: readonly ContainerPort[],
  hostNetwork: boolean,
): readonly ContainerPort[] {
  if (!hostNetwork) return ports;
  return ports.map((port) => ({ ...port, hostPort: port.hostPort ?? port.containerPort }));
}

/** Defaults that need the whole spec. */
export function defaultSpec(spec: PodSpec): PodSpec {
  const complete = (container: Container): Container => ({
    ...container,
    ports: defaultHostPorts(container.ports, spec.hostNetwork),
    resources: defaultRequests(container.resources),
  });
  return defaultPodResources({
    ...spec,
    initContainers: spec.initContainers.map(complete),
    containers: spec.containers.map(complete),
  });
}
