// A pod as CRI's PodSandboxConfig. kubelet: generatePodSandboxConfig

import type { DesiredPod } from "../api/desired-pod.ts";
import { portHolders } from "../api/host-ports.ts";
import { ANNOTATION, LABEL } from "../api/labels.ts";
import { podLogDirectory } from "../api/log-paths.ts";
import type { ContainerPort, Pod, PodSpec, PortProtocol } from "../api/pod.ts";
import type { PodSandboxConfigInit } from "../cri/cri-client.ts";
import { NamespaceMode, Protocol } from "../cri/gen/runtime/v1/api_pb.ts";
import type { DnsConfig } from "./resolv-conf.ts";

export interface SandboxFacts {
  readonly attempt: number;
  readonly instance: string;
  readonly podLogsDir: string;
  readonly dns: DnsConfig;
  /** From `cgroupParent`. */
  readonly cgroupParent: string;
  /** The boot in which it is made; absent = not known. */
  readonly bootId?: string;
  /** ms since that boot when the pod began there, which may have been in a sandbox before. */
  readonly activeSince?: number;
}

/** What the kernel takes as a host name. */
const MAX_HOSTNAME = 63;

export function sandboxConfig(desired: DesiredPod, facts: SandboxFacts): PodSandboxConfigInit {
  const { metadata, spec } = desired.pod;
  const { name, namespace, uid, labels, annotations } = metadata;
  return {
    metadata: { name, namespace, uid, attempt: facts.attempt },
    hostname: hostnameOf(desired.pod),
    logDirectory: podLogDirectory(facts.podLogsDir, metadata),
    dnsConfig: facts.dns,
    portMappings: portMappings(spec),
    labels: { ...labels, ...identityLabels(desired.pod, facts.instance) },
    annotations: { ...annotations, ...originAnnotations(desired), ...lifeAnnotations(facts) },
    linux: {
      cgroupParent: facts.cgroupParent,
      securityContext: { namespaceOptions: namespaceOptions(spec) },
    },
  };
}

/** The labels by which a sandbox or container is known as ours; they win over the pod's own. */
export function identityLabels(pod: Pod, instance: string): Record<string, string> {
  return {
    [LABEL.podName]: pod.metadata.name,
    [LABEL.podNamespace]: pod.metadata.namespace,
    [LABEL.podUID]: pod.metadata.uid,
    [LABEL.managed]: "true",
    [LABEL.instance]: instance,
  };
}

/** Containers join the namespaces of their sandbox, so both say the same. */
export function namespaceOptions({ hostNetwork }: PodSpec): {
  readonly network: NamespaceMode;
  readonly pid: NamespaceMode;
  readonly ipc: NamespaceMode;
} {
  return {
    network: hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: NamespaceMode.CONTAINER,
    ipc: NamespaceMode.POD,
  };
}

function originAnnotations(desired: DesiredPod): Record<string, string> {
  return {
    [ANNOTATION.source]: desired.source,
    [ANNOTATION.gracePeriod]: String(desired.pod.spec.terminationGracePeriodSeconds),
    [ANNOTATION.configHash]: desired.specHash,
    [ANNOTATION.sourceRef]: desired.sourceRef,
  };
}

function lifeAnnotations({ bootId, activeSince }: SandboxFacts): Record<string, string> {
  return {
    ...(bootId === undefined ? {} : { [ANNOTATION.bootId]: bootId }),
    ...(activeSince === undefined ? {} : { [ANNOTATION.activeSince]: String(activeSince) }),
  };
}

// Together with the host's network runc refuses a host name of its own.
function hostnameOf({ metadata, spec }: Pod): string {
  if (spec.hostNetwork) return "";
  const hostname = spec.hostname ?? metadata.name;
  return hostname.slice(0, MAX_HOSTNAME).replace(/[-.]+$/, "");
}

interface PortMapping {
  readonly protocol: Protocol;
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIp: string;
}

// On the host's network a port is the host's already.
function portMappings(spec: PodSpec): PortMapping[] {
  if (spec.hostNetwork) return [];
  return portHolders(spec).flatMap(({ ports }) => ports.flatMap((port) => portMapping(port) ?? []));
}

function portMapping(port: ContainerPort): PortMapping | undefined {
  const { protocol, containerPort, hostPort, hostIP } = port;
  if (hostPort === undefined || hostPort === 0) return undefined;
  return { protocol: PROTOCOLS[protocol], containerPort, hostPort, hostIp: hostIP ?? "" };
}

const PROTOCOLS: Readonly<Record<PortProtocol, Protocol>> = {
  TCP: Protocol.TCP,
  UDP: Protocol.UDP,
  SCTP: Protocol.SCTP,
};
