// The kinds of objects that one node without an API server does not run, and what to write instead of each.

/** Whether the whole of an object could be one of a cluster: a custom resource has any such kind and version. */
const KIND = /^[A-Z][A-Za-z0-9]{0,62}$/;
const API_VERSION = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

const AS_DEPLOYMENT = "write it as a Deployment";
const HOST_PORT = "use hostPort in the ports of the container";
const PROXY = "run a reverse proxy as a Pod with hostPort";
const NO_ACCOUNTS = "it is not needed: a pod here has no account of an API server";
const NO_CLUSTER = "it is not needed: it controls a whole cluster";

const INSTEAD: Readonly<Record<string, string>> = {
  ReplicaSet: AS_DEPLOYMENT,
  ReplicationController: AS_DEPLOYMENT,
  ControllerRevision: "it is not needed: the agent keeps the last good revision by itself",
  PodTemplate: "write template as a Pod",
  Service: `${HOST_PORT}, or hostNetwork`,
  Endpoints: HOST_PORT,
  EndpointSlice: HOST_PORT,
  Ingress: PROXY,
  IngressClass: PROXY,
  Gateway: PROXY,
  HTTPRoute: PROXY,
  NetworkPolicy: "limit hostPort with hostIP, or use a firewall of the node",
  Namespace: "it is not needed: a namespace exists as soon as an object names it",
  ServiceAccount: NO_ACCOUNTS,
  Role: NO_ACCOUNTS,
  RoleBinding: NO_ACCOUNTS,
  ClusterRole: NO_ACCOUNTS,
  ClusterRoleBinding: NO_ACCOUNTS,
  PersistentVolume:
    "it is not needed: a PersistentVolumeClaim alone is a directory of this node; for another one use hostPath",
  StorageClass: "it is not needed: a PersistentVolumeClaim alone is a directory of this node",
  PriorityClass: "write it into priorityClasses of the agent's configuration",
  RuntimeClass: "write it into runtimeClasses of the agent's configuration",
  LimitRange: "write limits and requests into each container",
  ResourceQuota: "write limits and requests into each container",
  HorizontalPodAutoscaler: NO_CLUSTER,
  PodDisruptionBudget: NO_CLUSTER,
  CustomResourceDefinition: NO_CLUSTER,
  Node: "write nodeLabels into the agent's configuration",
  Event: "it is not needed: the agent records its own events",
  Kustomization: "run kubectl kustomize and write its output here",
  DesiredState: "publish it with agent fleet apply, or write its resources here as manifests",
  AgentConfiguration: "write it to /etc/agent/agent.yaml",
};
const OTHERWISE = "its controller runs in a cluster; write the Pod that it would create";

/** All that are known by name, and lists of them. */
export const OTHER_KINDS: readonly string[] = Object.keys(INSTEAD).flatMap((kind) => [
  kind,
  `${kind}List`,
]);

/** What to write instead of a kind that Kubernetes or the agent knows, also of a list of them. */
function insteadOf(kind: string): string | undefined {
  const one = kind.replace(/List$/, "");
  return Object.hasOwn(INSTEAD, one) ? INSTEAD[one] : undefined;
}

/** True for a kind that is certainly not a misspelt kind of this node. */
export function isOtherKind(kind: string): boolean {
  return insteadOf(kind) !== undefined;
}

/** Why an object is left out although nothing is wrong with it. */
export function leftOut(kind: string): string {
  const instead = insteadOf(kind) ?? OTHERWISE;
  return `kind ${JSON.stringify(kind)} does not run on this node and is skipped; ${instead}`;
}

/** Of a Service whose name finds pods. */
export const SERVICE_IS_NAME = `kind "Service" works on this node as a headless name: it finds the ready pods that its selector matches; ports, load balancing and cluster IPs do not work, ${HOST_PORT} instead`;

/** The field of such an object that makes it none of Kubernetes, and why. */
export function malformed(
  kind: string,
  apiVersion: unknown,
): { readonly field: "kind" | "apiVersion"; readonly message: string } | undefined {
  if (!KIND.test(kind))
    return {
      field: "kind",
      message: 'must be a capital letter and more letters and digits, such as "Pod"',
    };
  const isWritten = (apiVersion ?? "") !== "";
  if (!isWritten && isOtherKind(kind)) return undefined;
  if (typeof apiVersion === "string" && API_VERSION.test(apiVersion)) return undefined;
  const message = 'must be a version such as "v1", or a group and a version such as "apps/v1"';
  return { field: "apiVersion", message };
}

interface OtherFormat {
  /** The field by which it is recognised. */
  readonly field: string;
  readonly message: string;
}

const COMPOSE =
  "this is a Compose file, no manifest; write its services as containers of a Pod (apiVersion: v1, kind: Pod)";
const KUSTOMIZATION =
  "this is a kustomization, no manifest; run kubectl kustomize and write its output here";
const CHART =
  "this is the description of a Helm chart, no manifest; run helm template and write its output here";

/** The format of an object without a kind, if it is a well-known one of others. */
export function otherFormat(value: Readonly<Record<string, unknown>>): OtherFormat | undefined {
  const { services, resources, apiVersion } = value;
  if (typeof services === "object" && services !== null)
    return { field: "services", message: COMPOSE };
  if (Array.isArray(resources)) return { field: "resources", message: KUSTOMIZATION };
  const isChart = (apiVersion === "v1" || apiVersion === "v2") && typeof value["name"] === "string";
  return isChart ? { field: "apiVersion", message: CHART } : undefined;
}
