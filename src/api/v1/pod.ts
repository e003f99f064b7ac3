// The Pod as this node understands it: Kubernetes' v1 shapes, defaulted, read-only, nothing more.

import type { FieldPath } from "../decode/field-path.ts";
import { harmless } from "../decode/field-rules.ts";
import { fieldOf, objectType, unread, type Decoded } from "../schema/codec.ts";
import type { Container } from "./container.ts";
import { POD_METADATA, typeFields } from "./metadata.ts";
import { POD_SPEC, type PodSpec } from "./pod-spec.ts";

export const POD = objectType("Pod", {
  ...typeFields("Pod"),
  metadata: fieldOf(POD_METADATA)({
    about: "Name, namespace, labels and annotations.",
    required: true,
  }),
  spec: fieldOf(POD_SPEC)({
    about: "What runs. A changed spec is a new pod, which starts when the old one is gone.",
    required: true,
  }),
  status: unread("PodStatus", "Last known state in an API server; never read.", harmless),
});

export interface ObjectMeta extends Decoded<typeof POD_METADATA> {
  /** Set by the agent (`pod-identity`), never read from a manifest. */
  readonly uid: PodUID;
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

export function mapContainers(spec: PodSpec, change: (one: Container) => Container): PodSpec {
  const { initContainers, containers } = spec;
  return {
    ...spec,
    initContainers: initContainers.map(change),
    containers: containers.map(change),
  };
}

export function findContainer(spec: PodSpec, name: string): Container | undefined {
  return allContainers(spec).find((container) => container.name === name);
}

export interface PlacedContainer {
  readonly container: Container;
  readonly list: "initContainers" | "containers";
  /** `["spec", "containers", 0]` */
  readonly path: FieldPath;
}

/** The same with the place of each in the pod. */
export function placedContainers(spec: PodSpec): readonly PlacedContainer[] {
  return (["initContainers", "containers"] as const).flatMap((list) =>
    spec[list].map((container, index) => ({ container, list, path: ["spec", list, index] })),
  );
}

/** What decides whether a container runs again. */
export type RestartingContainer = Pick<Container, "restartPolicy" | "restartPolicyRules">;

export interface RestartingSpec extends Pick<PodSpec, "restartPolicy"> {
  readonly initContainers: readonly RestartingContainer[];
}

/** An init container that runs beside the others until the end. kubelet: IsRestartableInitContainer */
export function isSidecar(spec: RestartingSpec, container: RestartingContainer): boolean {
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
