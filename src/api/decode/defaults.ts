// What a pod means by what it leaves out. The only place of Kubernetes' defaults. k8s: SetDefaults_Pod

import type {
  Container,
  ContainerPort,
  DnsPolicy,
  HttpGetHandler,
  PodSpec,
  PortProtocol,
  Probe,
  PullPolicy,
  ResourceRequirements,
  RestartPolicy,
  TerminationMessagePolicy,
} from "../v1/pod.ts";
import { defaultPodResources } from "../validation/pod-level-resources.ts";
import type { EmptyDirVolume } from "../v1/volumes.ts";

export const DEFAULT_NAMESPACE = "default";
export const DEFAULT_RESTART_POLICY: RestartPolicy = "Always";
/** Seconds. */
export const DEFAULT_GRACE_PERIOD = 30;
export const DEFAULT_DNS_POLICY: DnsPolicy = "ClusterFirst";
export const DEFAULT_TERMINATION_MESSAGE_PATH = "/dev/termination-log";
export const DEFAULT_TERMINATION_MESSAGE_POLICY: TerminationMessagePolicy = "File";
export const DEFAULT_HTTP_PATH = "/";
export const DEFAULT_HTTP_SCHEME: HttpGetHandler["scheme"] = "HTTP";
/** The server as a whole. */
export const DEFAULT_GRPC_SERVICE = "";
/** Of files in volumes: 0644. */
export const DEFAULT_FILE_MODE = 420;
export const DEFAULT_PROTOCOL: PortProtocol = "TCP";

/** `:latest`, or neither tag nor digest, is looked up at each start; anything else only when it is missing. */
export function defaultPullPolicy(image: string): PullPolicy {
  const [name = "", digest] = image.split("@", 2);
  const tag = /:([^/:]*)$/.exec(name)?.[1];
  if (digest !== undefined && tag === undefined) return "IfNotPresent";
  return tag === undefined || tag === "latest" ? "Always" : "IfNotPresent";
}

/** A limit without a request is also the request. */
export function defaultRequests(resources: ResourceRequirements): ResourceRequirements {
  return { limits: resources.limits, requests: { ...resources.limits, ...resources.requests } };
}

/** A volume that does not say where its files come from. k8s: SetDefaults_Volume */
export function defaultVolume(name: string): EmptyDirVolume {
  return { name, emptyDir: { medium: "" } };
}

/** On the host's network every port is a host port. */
export function defaultHostPorts(
  ports: readonly ContainerPort[],
  hostNetwork: boolean,
): readonly ContainerPort[] {
  if (!hostNetwork) return ports;
  return ports.map((port) => ({ ...port, hostPort: port.hostPort ?? port.containerPort }));
}

type ProbeTimings = Omit<Probe, "handler" | "terminationGracePeriodSeconds">;

/** Seconds and counts; 0 is the same as not written, and so is what is less. k8s: SetDefaults_Probe */
export function defaultProbeTimings(
  written: Readonly<Record<keyof ProbeTimings, number | undefined>>,
): ProbeTimings {
  return {
    initialDelaySeconds: positive(written.initialDelaySeconds, 0),
    periodSeconds: positive(written.periodSeconds, 10),
    timeoutSeconds: positive(written.timeoutSeconds, 1),
    successThreshold: positive(written.successThreshold, 1),
    failureThreshold: positive(written.failureThreshold, 3),
  };
}

function positive(written: number | undefined, otherwise: number): number {
  return written !== undefined && written > 0 ? written : otherwise;
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
