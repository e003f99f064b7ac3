// The Pod as this node understands it: Kubernetes' v1 shapes, defaulted, read-only, nothing more.

import type { Container } from "./container.ts";
import type { PodSpec } from "./pod-spec.ts";

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  /** Set by the agent (`pod-identity`), never read from a manifest. */
  readonly uid: PodUID;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** UUIDv8 over the written pod: it identifies a spec, and each life of that spec has the same. */
export type PodUID = string;

export interface Pod {
  readonly apiVersion: "v1";
  readonly kind: "Pod";
  readonly metadata: ObjectMeta;
  readonly spec: PodSpec;
}

export type RestartPolicy = PodSpec["restartPolicy"];

/** Every container of the pod in the order in which they start. Names are unique among all of them. */
export function allContainers(spec: PodSpec): readonly Container[] {
  return [...spec.initContainers, ...spec.containers];
}

/** An init container that runs beside the others until the end. kubelet: IsRestartableInitContainer */
export function isSidecar(spec: PodSpec, container: Container): boolean {
  return spec.initContainers.includes(container) && container.restartPolicy === "Always";
}

/** `namespace/name`, as every log line, error and table shows it. */
export function podName(pod: { readonly metadata: { namespace: string; name: string } }): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}

export interface NamedPod {
  readonly namespace: string;
  readonly name: string;
}
