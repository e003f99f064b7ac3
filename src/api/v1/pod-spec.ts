// The spec of a pod. k8s: ValidatePodSpec, SetDefaults_PodSpec

import { harmless, ignored, refused, NO_SCHEDULER } from "../decode/field-rules.ts";
import { forbidden } from "../decode/field-reader.ts";
import {
  boolean,
  converted,
  fieldOf,
  flag,
  integer,
  judgedOnly,
  list,
  number,
  objectType,
  oneOf,
  string,
  unreadFields,
  type Decoded,
} from "../schema/codec.ts";
import { conditional, having, notTogether } from "../schema/json-schema.ts";
import type { JsonSchema } from "../schema/type.ts";
import {
  DNS_LABEL_FORM,
  dnsSubdomainError,
  SUBDOMAIN_FORM,
  type Form,
} from "../validation/validate-names.ts";
import { CONTAINER, INIT_CONTAINER } from "./container.ts";
import { DNS_CONFIG, HOST_ALIAS } from "./dns.ts";
import { NO_RESOURCES, OVERHEAD, POD_RESOURCES } from "./resources.ts";
import { POD_SECURITY_CONTEXT } from "./security-context.ts";
import { volumes } from "./volumes.ts";
import { AFFINITY, POD_OS, TOLERATION, labels } from "./scheduling.ts";
import { MAX_INT32, MIN_INT32, within } from "../schema/values.ts";

/** The name of a Secret; one without a name is dropped with a warning, as it names nothing. */
const PULL_SECRET = converted(
  objectType("LocalObjectReference", {
    name: string({
      about: "Name of a Secret in the pod's namespace.",
      default: "",
      ...SUBDOMAIN_FORM,
    }),
  }),
  {
    to({ name }, { findings, path }) {
      if (name !== "") return name;
      findings.warn([...path, "name"], "Ignored", 'invalid empty name ""');
      return undefined;
    },
    from: (name: string) => ({ name }),
  },
);

/** Written only where it is false. */
const HOST_USERS = converted(flag, {
  to: (hostUsers) => hostUsers,
  from: (hostUsers: boolean) => (hostUsers ? undefined : false),
});

const SECONDS = converted(number, {
  // k8s: podStrategy.CheckGracefulDelete
  to(seconds, { findings, path }) {
    if (seconds >= 0) return seconds;
    findings.warn(path, "Ignored", "a negative grace period counts as 1 second; write 1");
    return 1;
  },
  from: (seconds: number) => seconds,
});

/** The kernel's limit of a host name. */
const MAX_KERNEL_NAME = 64;

const KERNEL_NAME_FORM: Form = {
  check: (name) =>
    name.length > MAX_KERNEL_NAME
      ? `must be no more than ${MAX_KERNEL_NAME} characters`
      : dnsSubdomainError(name),
  schema: { ...SUBDOMAIN_FORM.schema, maxLength: MAX_KERNEL_NAME },
};

/** The fields that would set the host name too. k8s: validateHostnameOverride */
const NOT_WITH_OVERRIDE = ["hostNetwork", "setHostnameAsFQDN"] as const;

/** Of the rules that relate several fields. k8s: ValidatePodSpec */
function namespacesSchema(): JsonSchema {
  const isTrue = { const: true };
  const ownUsers = ["hostNetwork", "hostPID", "hostIPC"].map((key) =>
    notTogether({ hostUsers: { const: false }, [key]: isTrue }),
  );
  const ownName = NOT_WITH_OVERRIDE.map((key) =>
    notTogether({ hostnameOverride: { type: "string", minLength: 1 }, [key]: isTrue }),
  );
  const isNone = having({ dnsPolicy: { const: "None" } });
  const dnsConfig = having({ nameservers: { type: "array", minItems: 1 } });
  return {
    allOf: [
      ...ownUsers,
      ...ownName,
      notTogether({ hostPID: isTrue, shareProcessNamespace: isTrue }),
      conditional(isNone, having({ dnsConfig })),
    ],
  };
}

const FIELDS = {
  initContainers: list(INIT_CONTAINER, {
    about:
      "Containers that run one after the other before the others. Those with restartPolicy Always are sidecars and keep running.",
  }),
  containers: list(CONTAINER, {
    about: "Containers that run side by side; at least one.",
    required: "a pod needs at least one container",
    schema: { minItems: 1 },
  }),
  volumes,
  restartPolicy: oneOf(["Always", "OnFailure", "Never"], {
    about: "Restart policy of its containers.",
    default: "Always",
  }),
  terminationGracePeriodSeconds: fieldOf(SECONDS)({
    about: "Seconds between the stop signal and the kill.",
    default: 30,
  }),
  activeDeadlineSeconds: integer({
    about: "Seconds since the pod's start, within one boot, after which it fails.",
    ...within(1, MAX_INT32),
  }),
  hostNetwork: boolean({ about: "Whether it shares the node's network.", default: false }),
  hostPID: boolean({ about: "Whether it shares the node's process namespace.", default: false }),
  hostIPC: boolean({ about: "Whether it shares the node's IPC namespace.", default: false }),
  shareProcessNamespace: boolean({
    about: "Whether its containers share one process namespace.",
    default: false,
  }),
  hostUsers: fieldOf(HOST_USERS)({
    about: "false: a user namespace of its own, if the runtime supports it.",
    default: true,
    keep: true,
  }),
  hostname: string({
    about: "Host name. Default: the pod's name.",
    ...DNS_LABEL_FORM,
  }),
  subdomain: string({
    about: "Subdomain of its fully qualified name. No DNS record is created.",
    ...DNS_LABEL_FORM,
  }),
  setHostnameAsFQDN: boolean({
    about: "Whether the host name is the fully qualified one.",
    default: false,
  }),
  hostnameOverride: string({
    about: `Host name as it is written, in place of hostname and subdomain; it may have dots and at most ${MAX_KERNEL_NAME} characters. Not with hostNetwork or setHostnameAsFQDN.`,
    ...KERNEL_NAME_FORM,
  }),
  hostAliases: list(HOST_ALIAS, { about: "Lines added to its hosts file." }),
  dnsPolicy: oneOf(["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], {
    about:
      "ClusterFirst or ClusterFirstWithHostNet: the node's clusterDNS if configured, else as Default, with a warning. Default: the node's resolv.conf. None: dnsConfig alone.",
    default: "ClusterFirst",
  }),
  dnsConfig: fieldOf(DNS_CONFIG)({ about: "Additions to its resolv.conf." }),
  imagePullSecrets: list(PULL_SECRET, { about: "Secrets with registry credentials." }),
  priority: integer({
    about: "Priority of the pod: pods of higher priority are evicted later.",
    ...within(MIN_INT32, MAX_INT32),
  }),
  priorityClassName: string({
    about: "system-node-critical, system-cluster-critical, or a class of the node's configuration.",
    ...SUBDOMAIN_FORM,
  }),
  preemptionPolicy: oneOf(["PreemptLowerPriority", "Never"], {
    about: "PreemptLowerPriority or Never. Default: PreemptLowerPriority.",
  }),
  runtimeClassName: string({
    about: "Runtime class of the node's configuration.",
    ...SUBDOMAIN_FORM,
  }),
  overhead: fieldOf(OVERHEAD)({
    about: "Resources that the pod needs beside its containers.",
    default: {},
  }),
  nodeSelector: labels("Labels that this node must have."),
  resources: fieldOf(POD_RESOURCES)({
    about: "Resources of all its containers together.",
    default: NO_RESOURCES,
  }),
  securityContext: fieldOf(POD_SECURITY_CONTEXT)({
    about: "User, groups and privileges of all containers; a container's own take precedence.",
    default: { supplementalGroups: [], sysctls: [] },
    keep: true,
  }),
  os: judgedOnly(fieldOf(POD_OS)({ about: "Operating system that the pod requires." })),
  affinity: fieldOf(AFFINITY)({ about: "Nodes on which the pod may or should run." }),
  tolerations: list(TOLERATION, {
    about: "Taints of the node that the pod tolerates, such as memory pressure.",
  }),
  nodeName: judgedOnly(
    string({ about: "Node that the pod is for. Any other node ignores the pod." }),
  ),
  ...unreadFields(harmless, {
    topologySpreadConstraints: [
      "[]TopologySpreadConstraint",
      "Spread of pods over nodes. This node is the only one.",
    ],
  }),
  schedulerName: string({
    about: "Scheduler that places the pod; there is none.",
    default: "default-scheduler",
    rule: harmless,
  }),
  ...unreadFields(refused(NO_SCHEDULER), {
    schedulingGroup: ["PodSchedulingGroup", "Pods that a scheduler places together."],
    workloadRef: ["WorkloadReference", "Pods that a scheduler places together."],
  }),
  ...unreadFields(refused(NO_SCHEDULER, []), {
    schedulingGates: ["[]PodSchedulingGate", "Conditions that a scheduler waits for."],
    resourceClaims: ["[]PodResourceClaim", "Devices that a cluster's driver allocates."],
  }),
  serviceAccountName: string({
    about: "Service account, the pod's identity to an API server. Default: default.",
    ...SUBDOMAIN_FORM,
    rule: ignored("the pod runs without a token, as there is no API server", "default", ""),
  }),
  ...unreadFields(harmless, {
    serviceAccount: ["string", "Former name of serviceAccountName; never read."],
  }),
  ...unreadFields(harmless, {
    automountServiceAccountToken: [
      "boolean",
      "Whether it gets a token for an API server; there is none.",
    ],
  }),
  enableServiceLinks: boolean({
    about: "Whether it gets variables of a cluster's services; there are none.",
    default: true,
    keep: true,
    rule: harmless,
  }),
  ...unreadFields(ignored("no controller sets their conditions without an API server", []), {
    readinessGates: [
      "[]PodReadinessGate",
      "Conditions that controllers set before the pod is Ready.",
    ],
  }),
  ...unreadFields(
    refused({ code: "Unsupported", message: "cannot be written in a manifest; leave it out" }, []),
    { ephemeralContainers: ["[]EphemeralContainer", "Containers that kubectl debug adds."] },
  ),
};

export const POD_SPEC = objectType("PodSpec", FIELDS, {
  schema: namespacesSchema(),
  check(spec, node) {
    if (spec.hostnameOverride === undefined) return;
    for (const key of NOT_WITH_OVERRIDE)
      if (spec[key]) forbidden(node, key, "may not be set together with `hostnameOverride`");
  },
});
export type PodSpec = Decoded<typeof POD_SPEC>;
