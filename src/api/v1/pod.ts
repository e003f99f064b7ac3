// The Pod as this node understands it: Kubernetes' v1 shapes, defaulted, read-only, nothing more.

import type { Container } from "./container.ts";
import type { NodeSelectorTerm, Toleration } from "./scheduling.ts";
import type { PodSecurityContext } from "./security-context.ts";
import type { Volume } from "./volumes.ts";
import type { HostAlias, PodDnsConfig } from "./dns.ts";
import type { ResourceList, ResourceRequirements } from "./resources.ts";

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  /** Set by the agent (`pod-identity`), never read from a manifest. */
  readonly uid: PodUID;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** UUIDv8 over what a pod's author wrote; names a spec, not a life (POD-API §2). */
export type PodUID = string;

export interface Pod {
  readonly apiVersion: "v1";
  readonly kind: "Pod";
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
}

export type RestartPolicy = "Always" | "OnFailure" | "Never";

export interface PodSpec {
  /** Run one after the other before `containers`; those with restartPolicy Always are sidecars. */
  readonly initContainers: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly Volume[];
  readonly restartPolicy: RestartPolicy;
  /** Seconds between SIGTERM and SIGKILL. */
  readonly terminationGracePeriodSeconds: number;
  /** Seconds since the pod began, inside one boot, after which it fails. */
  readonly activeDeadlineSeconds?: number;
  readonly hostNetwork: boolean;
  readonly hostPID: boolean;
  readonly hostIPC: boolean;
  readonly shareProcessNamespace: boolean;
  /** False = a user namespace of its own. */
  readonly hostUsers: boolean;
  /** Absent = the pod's name (or the node's with hostNetwork). */
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly setHostnameAsFQDN: boolean;
  readonly hostAliases: readonly HostAlias[];
  readonly dnsPolicy: "ClusterFirst" | "ClusterFirstWithHostNet" | "Default" | "None";
  readonly dnsConfig?: PodDnsConfig;
  /** Names of local Secrets. */
  readonly imagePullSecrets: readonly string[];
  readonly priority?: number;
  readonly priorityClassName?: string;
  readonly preemptionPolicy?: "Never" | "PreemptLowerPriority";
  readonly runtimeClassName?: string;
  readonly overhead: ResourceList;
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** What node affinity requires; absent = nothing. */
  readonly affinity?: readonly NodeSelectorTerm[];
  readonly tolerations: readonly Toleration[];
  /** Of the pod as a whole. */
  readonly resources: ResourceRequirements;
  readonly securityContext: PodSecurityContext;
}

/** Every container of the pod in the order in which they start. Names are unique among all of them. */
export function allContainers(spec: PodSpec): readonly Container[] {
  return [...spec.initContainers, ...spec.containers];
}

/** An init container that runs beside the others until the end. kubelet: IsRestartableInitContainer */
export function isSidecar(spec: PodSpec, container: Container): boolean {
  return spec.initContainers.includes(container) && container.restartPolicy === "Always";
}

/** `namespace/name`, as every log line, error and table says it. */
export function podName(pod: { readonly metadata: { namespace: string; name: string } }): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}

export interface NamedPod {
  readonly namespace: string;
  readonly name: string;
}
