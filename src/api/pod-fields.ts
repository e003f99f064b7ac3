// Every field of the v1 Pod API, level by level, and how this node treats it (POD-API §3 to §6).

import {
  affinityRule,
  dnsPolicyRule,
  harmless,
  ignored,
  later,
  osRule,
  refused,
  supported,
  type FieldRules,
} from "./field-rules.ts";

const NEEDS_API_SERVER = {
  code: "NeedsAPIServer",
  message: "needs a Kubernetes API server; leave it out or say default",
};
const NO_SCHEDULER = {
  code: "Unsupported",
  message: "needs a Kubernetes API server and scheduler; leave it out",
};

export const POD: FieldRules = {
  apiVersion: supported,
  kind: supported,
  metadata: supported,
  spec: supported,
  status: harmless,
};

export const LIST: FieldRules = {
  apiVersion: supported,
  kind: supported,
  metadata: harmless,
  items: supported,
};

export const METADATA: FieldRules = {
  name: supported,
  namespace: supported,
  labels: supported,
  annotations: supported,
  generateName: harmless,
  uid: harmless,
  creationTimestamp: harmless,
  deletionTimestamp: harmless,
  deletionGracePeriodSeconds: harmless,
  resourceVersion: harmless,
  generation: harmless,
  managedFields: harmless,
  ownerReferences: harmless,
  finalizers: harmless,
  selfLink: harmless,
};

export const SPEC: FieldRules = {
  initContainers: supported,
  containers: supported,
  volumes: supported,
  restartPolicy: supported,
  terminationGracePeriodSeconds: supported,
  activeDeadlineSeconds: supported,
  hostNetwork: supported,
  hostname: supported,
  nodeName: supported,
  subdomain: later(""),
  setHostnameAsFQDN: later(false),
  hostnameOverride: later(""),
  hostAliases: later([]),
  dnsPolicy: dnsPolicyRule,
  dnsConfig: later({}),
  hostPID: later(false),
  hostIPC: later(false),
  shareProcessNamespace: later(false),
  hostUsers: later(true),
  imagePullSecrets: later([]),
  priority: later(0),
  priorityClassName: later(""),
  preemptionPolicy: later("PreemptLowerPriority"),
  runtimeClassName: later(""),
  overhead: later({}),
  nodeSelector: later({}, { "kubernetes.io/os": "linux" }),
  resources: later({}),
  securityContext: later({}),
  os: osRule,
  affinity: affinityRule,
  tolerations: harmless,
  topologySpreadConstraints: harmless,
  schedulerName: harmless,
  schedulingGroup: refused(NO_SCHEDULER),
  workloadRef: refused(NO_SCHEDULER),
  serviceAccountName: refused(NEEDS_API_SERVER, "default", ""),
  serviceAccount: refused(NEEDS_API_SERVER, "default", ""),
  automountServiceAccountToken: ignored(
    "there are no service account tokens without an API server",
    false,
  ),
  enableServiceLinks: ignored("there are no services without an API server", false),
  readinessGates: ignored("nobody sets their conditions without an API server", []),
  schedulingGates: refused(NO_SCHEDULER, []),
  resourceClaims: refused(NO_SCHEDULER, []),
  ephemeralContainers: refused(
    { code: "Unsupported", message: "cannot be written in a manifest; leave it out" },
    [],
  ),
};

export const CONTAINER: FieldRules = {
  name: supported,
  image: supported,
  imagePullPolicy: supported,
  command: supported,
  args: supported,
  workingDir: supported,
  env: supported,
  ports: supported,
  resources: supported,
  volumeMounts: supported,
  livenessProbe: supported,
  readinessProbe: supported,
  startupProbe: supported,
  lifecycle: supported,
  terminationMessagePath: supported,
  terminationMessagePolicy: supported,
  restartPolicy: supported,
  restartPolicyRules: supported,
  envFrom: later([]),
  securityContext: later({}),
  stdin: later(false),
  stdinOnce: later(false),
  tty: later(false),
  resizePolicy: ignored("pods are not resized in place on this node", []),
  volumeDevices: ignored("there are no block volumes on this node", []),
};

export const ENV_VAR: FieldRules = { name: supported, value: supported, valueFrom: later() };

export const PORT: FieldRules = {
  name: supported,
  containerPort: supported,
  hostPort: supported,
  hostIP: supported,
  protocol: supported,
};

export const PROBE: FieldRules = {
  exec: supported,
  httpGet: supported,
  tcpSocket: supported,
  grpc: supported,
  initialDelaySeconds: supported,
  periodSeconds: supported,
  timeoutSeconds: supported,
  successThreshold: supported,
  failureThreshold: supported,
  terminationGracePeriodSeconds: supported,
};

export const LIFECYCLE: FieldRules = {
  postStart: supported,
  preStop: supported,
  stopSignal: supported,
};

export const LIFECYCLE_HANDLER: FieldRules = {
  exec: supported,
  httpGet: supported,
  sleep: supported,
  // Kubernetes takes it in and lets each hook fail at run time.
  tcpSocket: refused({
    code: "Unsupported",
    message: "TCPSocket is NOT supported as a LifecycleHandler; use exec, httpGet or sleep",
  }),
};

export const EXEC: FieldRules = { command: supported };

export const HTTP_GET: FieldRules = {
  path: supported,
  port: supported,
  host: supported,
  scheme: supported,
  httpHeaders: supported,
};

export const HTTP_HEADER: FieldRules = { name: supported, value: supported };
export const TCP_SOCKET: FieldRules = { port: supported, host: supported };
export const GRPC: FieldRules = { port: supported, service: supported };
export const SLEEP: FieldRules = { seconds: supported };

export const RESTART_RULE: FieldRules = {
  action: (value) =>
    value === "RestartAllContainers"
      ? {
          type: "Refused",
          code: "Unsupported",
          message:
            "RestartAllContainers does not work on this node; use Restart, which restarts the container alone",
        }
      : supported(value),
  exitCodes: supported,
};

export const EXIT_CODES: FieldRules = { operator: supported, values: supported };

export const RESOURCES: FieldRules = {
  limits: supported,
  requests: supported,
  claims: refused(NO_SCHEDULER, []),
};

export const VOLUME_MOUNT: FieldRules = {
  name: supported,
  mountPath: supported,
  readOnly: supported,
  recursiveReadOnly: later("Disabled"),
  subPath: later(""),
  subPathExpr: later(""),
  mountPropagation: later("None"),
};

export const HOST_PATH: FieldRules = { path: supported, type: supported };
export const EMPTY_DIR: FieldRules = { medium: supported, sizeLimit: supported };

export const VOLUME: FieldRules = {
  name: supported,
  hostPath: supported,
  emptyDir: supported,
  configMap: later(),
  secret: later(),
  downwardAPI: later(),
  projected: later(),
  persistentVolumeClaim: later(),
  image: later(),
  ...unsupportedVolumes(),
};

/** Annotations that change how a pod runs and are not built yet: never ignored in silence. */
export const UNBUILT_ANNOTATIONS: ReadonlySet<string> = new Set(
  [
    "devices",
    "update-strategy",
    "hold-upgrade",
    "min-ready-seconds",
    "progress-deadline-seconds",
    "on-failure",
    "restart-on-config-change",
    "unknown-fields",
    "pull-strict",
  ].map((name) => `agent/${name}`),
);

function unsupportedVolumes(): FieldRules {
  const names = [
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
  ];
  const rule = (name: string) =>
    refused({
      code: "UnsupportedVolume",
      message: `${name} volumes do not work on this node; use hostPath or emptyDir`,
    });
  return Object.fromEntries(names.map((name) => [name, rule(name)]));
}
