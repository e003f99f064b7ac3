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
  /** Kubernetes' words on what `/pods` shows. */
  configSource: "kubernetes.io/config.source",
  configHash: "kubernetes.io/config.hash",
  sourceRef: "agent/source-ref",
} as const;
