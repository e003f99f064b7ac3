// Kubernetes kinds that people put into manifests beside pods.

/** Planned and not supported yet: refused by name. */
export const LATER_KINDS: ReadonlySet<string> = new Set([
  "Deployment",
  "DaemonSet",
  "Job",
  "CronJob",
]);

const OTHER_KINDS: ReadonlySet<string> = new Set([
  "ClusterRole",
  "ClusterRoleBinding",
  "CustomResourceDefinition",
  "Endpoints",
  "EndpointSlice",
  "Event",
  "HorizontalPodAutoscaler",
  "Ingress",
  "IngressClass",
  "LimitRange",
  "Namespace",
  "NetworkPolicy",
  "Node",
  "PersistentVolume",
  "PodDisruptionBudget",
  "PodTemplate",
  "PriorityClass",
  "ReplicaSet",
  "ReplicationController",
  "ResourceQuota",
  "Role",
  "RoleBinding",
  "RuntimeClass",
  "Service",
  "ServiceAccount",
  "StatefulSet",
  "StorageClass",
]);

/** True for kinds that are certainly not a misspelt Pod. */
export function isKubernetesKind(kind: string): boolean {
  return LATER_KINDS.has(kind) || OTHER_KINDS.has(kind);
}
