// The labels and annotations on our sandboxes and containers, and to which pod they belong by them. The `agent/*` keys are
// frozen for ever.

import type { Pod } from "../v1/pod.ts";

export const LABEL = {
  podName: "io.kubernetes.pod.name",
  podNamespace: "io.kubernetes.pod.namespace",
  podUID: "io.kubernetes.pod.uid",
  containerName: "io.kubernetes.container.name",
  managed: "agent/managed",
  instance: "agent/instance",
} as const;

export const ANNOTATION = {
  /** On the sandbox: the SourceName that alone may orphan the pod. */
  source: "agent/source",
  /** On both: the pod's terminationGracePeriodSeconds. */
  gracePeriod: "io.kubernetes.pod.terminationGracePeriod",
  containerHash: "io.kubernetes.container.hash",
  restartCount: "io.kubernetes.container.restartCount",
  terminationMessagePath: "io.kubernetes.container.terminationMessagePath",
  terminationMessagePolicy: "io.kubernetes.container.terminationMessagePolicy",
  /** JSON of the preStop handler, so that it runs also when the spec is forgotten. */
  preStopHandler: "io.kubernetes.container.preStopHandler",
  /** JSON of the container's ports: the handler may name one. */
  ports: "io.kubernetes.container.ports",
  /** On containers: `init`, or `sidecar/<position>` (1 starts first, stops last); absent = an app container. */
  containerRole: "agent/container-role",
  /** On the sandbox: the boot in which it was made (`/proc/sys/kernel/random/boot_id`). */
  bootId: "agent/boot-id",
  /** On containers: `v1:…` of the ConfigMaps and Secrets that it reads through env or subPath; absent = none. */
  configDigest: "agent/config-digest",
  /** On containers: how often all containers of the pod had been restarted together when this one was made; absent = never. */
  podRestarts: "agent/pod-restarts",
  /** On the sandbox of a pod with hostUsers: false: the node's ids that it runs as, `<first>:<how many>`. */
  userNamespace: "agent/user-namespace",
  /** On the sandbox: ms of CLOCK_BOOTTIME of that boot at which the pod began there; a later sandbox carries it on. */
  activeSince: "agent/active-since",
  /** On the sandbox: the pod's status.startTime, by the clock of that moment; a later sandbox carries it on. */
  startTime: "agent/start-time",
  /** Kubernetes' words on what `/pods` shows. */
  configSource: "kubernetes.io/config.source",
  configHash: "kubernetes.io/config.hash",
  sourceRef: "agent/source-ref",
} as const;

/** Where a pod comes from; also the value of the annotation `agent/source` on its sandbox. */
export type SourceName = "file" | "http" | "mqtt:node" | `mqtt:group/${string}`;

export function isSourceName(value: unknown): value is SourceName {
  if (typeof value !== "string") return false;
  return ["file", "http", "mqtt:node"].includes(value) || value.startsWith("mqtt:group/");
}

/** Of the node's files: what a document contains must not reach such pods, and waits for them. */
export function isStatic(source: SourceName): boolean {
  return source === "file" || source === "http";
}

/** The pod to which a sandbox or container belongs, from its labels. */
export interface RuntimeIdentity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** undefined = not created by this agent, and never touched. */
export function identityOf(
  labels: Readonly<Record<string, string>>,
  instance: string,
): RuntimeIdentity | undefined {
  if (labels[LABEL.managed] !== "true" || labels[LABEL.instance] !== instance) return undefined;
  const uid = labels[LABEL.podUID];
  const namespace = labels[LABEL.podNamespace];
  const name = labels[LABEL.podName];
  if (uid === undefined || namespace === undefined || name === undefined) return undefined;
  return { uid, namespace, name };
}

/** The label selector of everything that this agent created. */
export function ourSelector(instance: string): Record<string, string> {
  return { [LABEL.managed]: "true", [LABEL.instance]: instance };
}

/** The labels that mark a sandbox or container as this agent's; they win over the pod's own. */
export function identityLabels(pod: Pod, instance: string): Record<string, string> {
  return {
    [LABEL.podName]: pod.metadata.name,
    [LABEL.podNamespace]: pod.metadata.namespace,
    [LABEL.podUID]: pod.metadata.uid,
    [LABEL.managed]: "true",
    [LABEL.instance]: instance,
  };
}
