// A pod as CRI's PodSandboxConfig. kubelet: generatePodSandboxConfig

import type { DesiredPod } from "../../api/pod/desired-pod.ts";
import { portHolders } from "../../api/validation/host-ports.ts";
import { ANNOTATION, identityLabels } from "../../api/pod/labels.ts";
import { podLogDirectory } from "../../api/pod/log-paths.ts";
import type { PodSpec } from "../../api/v1/pod-spec.ts";
import type { ObjectMeta, Pod } from "../../api/v1/pod.ts";
import type { PodSecurityContext } from "../../api/v1/security-context.ts";
import { normalSysctl } from "../../api/validation/sysctls.ts";
import type { PodSandboxConfigInit } from "../../cri/cri-client.ts";
import { Protocol } from "../../cri/gen/runtime/v1/api_pb.ts";
import { kernelHostname } from "./pod-hosts.ts";
import { sandboxSecurityContext, type SandboxSecurityFacts } from "./security-context.ts";
import type { ContainerPort, PortProtocol } from "../../api/v1/container-ports.ts";
import { idRangeText, requireUserNamespaces } from "./namespaces.ts";
import type { DnsConfig } from "./pod-dns.ts";
import { sandboxResources } from "../cgroup/container-resources.ts";
import { AgentError } from "../../lib/errors.ts";

export interface SandboxFacts extends SandboxSecurityFacts {
  readonly attempt: number;
  readonly instance: string;
  readonly podLogsDir: string;
  readonly dns: DnsConfig;
  /** "" = none. */
  readonly clusterDomain: string;
  /** From `cgroupParent`. */
  readonly cgroupParent: string;
  /** "" = the runtime's default. */
  readonly runtimeHandler: string;
  /** False = CPU limits are not enforced as a quota. */
  readonly cpuCFSQuota: boolean;
  /** The boot in which the sandbox is created; absent = unknown. */
  readonly bootId?: string;
  /** Milliseconds since boot when the pod began in this boot, possibly in an earlier sandbox. */
  readonly activeSince?: number;
  /** The pod's status.startTime. */
  readonly startTime?: string;
}

/**
 * Throws AgentError: `CreatePodSandboxError` for a host name that is too long for the kernel, `UnsupportedByRuntime` when
 * the runtime would isolate the pod less than its spec asks for.
 */
export function sandboxConfig(desired: DesiredPod, facts: SandboxFacts): PodSandboxConfigInit {
  const { metadata, spec } = desired.pod;
  const { name, namespace, uid, labels } = metadata;
  requireUserNamespaces(desired.pod, facts.features, facts.runtimeHandler);
  return {
    metadata: { name, namespace, uid, attempt: facts.attempt },
    hostname: kernelHostname(desired.pod, facts.clusterDomain),
    logDirectory: podLogDirectory(facts.podLogsDir, metadata),
    dnsConfig: facts.dns,
    portMappings: portMappings(spec),
    labels: { ...labels, ...identityLabels(desired.pod, facts.instance) },
    annotations: {
      ...ownAnnotations(metadata),
      ...originAnnotations(desired),
      ...lifeAnnotations(facts),
    },
    linux: {
      cgroupParent: facts.cgroupParent,
      securityContext: sandboxSecurityContext(desired.pod, facts),
      sysctls: sysctlsOf(spec.securityContext),
      ...sandboxResources(spec, facts.cpuCFSQuota),
    },
  };
}

const OURS: ReadonlySet<string> = new Set(Object.values(ANNOTATION));

/**
 * Those that the agent reads back are its own, also where it writes none: a pod's author must not choose the ids of its
 * user namespace, the boot it began in, or its times.
 */
function ownAnnotations({ annotations }: ObjectMeta): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !OURS.has(key)));
}

function sysctlsOf({ sysctls }: PodSecurityContext): Record<string, string> {
  return Object.fromEntries(sysctls.map(({ name, value }) => [normalSysctl(name), value]));
}

function originAnnotations(desired: DesiredPod): Record<string, string> {
  return {
    [ANNOTATION.source]: desired.source,
    [ANNOTATION.gracePeriod]: String(desired.pod.spec.terminationGracePeriodSeconds),
    [ANNOTATION.configHash]: desired.specHash,
    [ANNOTATION.sourceRef]: desired.sourceRef,
  };
}

function lifeAnnotations(facts: SandboxFacts): Record<string, string> {
  const { bootId, activeSince, startTime, userNamespace } = facts;
  return {
    ...(userNamespace === undefined
      ? {}
      : { [ANNOTATION.userNamespace]: idRangeText(userNamespace) }),
    ...(bootId === undefined ? {} : { [ANNOTATION.bootId]: bootId }),
    ...(activeSince === undefined ? {} : { [ANNOTATION.activeSince]: String(activeSince) }),
    ...(startTime === undefined ? {} : { [ANNOTATION.startTime]: startTime }),
  };
}

// With hostNetwork a container port already is a host port.
function portMappings(spec: PodSpec) {
  if (spec.hostNetwork) return [];
  return portHolders(spec).flatMap(({ ports }) => ports.flatMap((port) => portMapping(port) ?? []));
}

function portMapping(port: ContainerPort) {
  const { protocol, containerPort, hostPort, hostIP } = port;
  if (hostPort === undefined || hostPort === 0) return undefined;
  return { protocol: PROTOCOLS[protocol], containerPort, hostPort, hostIp: hostIP ?? "" };
}

const PROTOCOLS: Readonly<Record<PortProtocol, Protocol>> = {
  TCP: Protocol.TCP,
  UDP: Protocol.UDP,
  SCTP: Protocol.SCTP,
};

/**
 * The runtime handler that runs the pod; "" = the default. Throws AgentError `CreatePodSandboxError` for an unknown class.
 * kubelet: runtimeClassManager.LookupRuntimeHandler
 */
export function runtimeHandlerOf(
  { spec: { runtimeClassName } }: Pod,
  classes: Readonly<Record<string, string>>,
): string {
  if (runtimeClassName === undefined || runtimeClassName === "") return "";
  if (Object.hasOwn(classes, runtimeClassName)) return classes[runtimeClassName] ?? "";
  const known = Object.keys(classes).toSorted().join(", ");
  throw new AgentError({
    reason: "CreatePodSandboxError",
    message: `RuntimeClass "${runtimeClassName}" not found; add it to runtimeClasses in the agent's configuration, with the handler of the container runtime (there: ${known === "" ? "none" : known})`,
  });
}
