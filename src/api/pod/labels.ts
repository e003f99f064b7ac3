// The labels and annotations on our sandboxes and containers. The `agent/*` keys are frozen for ever.

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
  /** On the sandbox of a pod with hostUsers: false: the node's ids that it runs as, `<first>:<how many>`. */
  userNamespace: "agent/user-namespace",
  /** On the sandbox: ms of CLOCK_BOOTTIME of that boot at which the pod began there; a later sandbox carries it on. */
  activeSince: "agent/active-since",
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
