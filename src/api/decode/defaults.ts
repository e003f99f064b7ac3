// What a pod means by what it leaves out. The only place of Kubernetes' defaults. k8s: SetDefaults_Pod

import type {
  Container,
  ContainerPort,
  PodSpec,
  PortProtocol,
  TerminationMessagePolicy,
} from "../v1/pod.ts";
import { defaultPodResources } from "../validation/pod-level-resources.ts";
import type { ResourceRequirements } from "../v1/resources.ts";

export const DEFAULT_TERMINATION_MESSAGE_PATH = "/dev/termination-log";
export const DEFAULT_TERMINATION_MESSAGE_POLICY: TerminationMessagePolicy = "File";
export const DEFAULT_PROTOCOL: PortProtocol = "TCP";

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
