// The spec of a pod.

import { harmless, ignored, refused } from "../decode/field-rules.ts";
import { CONTAINER, RESOURCES } from "./container.ts";
import { field, type Level } from "./field.ts";
import { NO_SCHEDULER, NO_SERVICE_ACCOUNTS } from "./refusals.ts";
import { AFFINITY, POD_OS, TOLERATION } from "./scheduling.ts";
import { POD_SECURITY_CONTEXT } from "./security.ts";
import { VOLUME } from "./volumes.ts";

export const HOST_ALIAS: Level = {
  ip: field("string", "Address of the line in the hosts file.", { required: true }),
  hostnames: field("[]string", "Names that lead to it."),
};

export const DNS_OPTION: Level = {
  name: field("string", "Name of the option, such as ndots."),
  value: field("string", "Its value, if it has one."),
};

export const DNS_CONFIG: Level = {
  nameservers: field("[]string", "Name servers to add, at most three in all."),
  searches: field("[]string", "Search domains to add."),
  options: field("[]PodDNSConfigOption", "Options to add or to change.", { level: DNS_OPTION }),
};

export const LOCAL_REFERENCE: Level = {
  name: field("string", "Name of a Secret in the pod's namespace."),
};

export const SPEC: Level = {
  initContainers: field(
    "[]Container",
    "Containers that run one after the other before the others; those with restartPolicy Always stay.",
    { level: CONTAINER },
  ),
  containers: field("[]Container", "Containers that run side by side; at least one.", {
    level: CONTAINER,
    required: true,
  }),
  volumes: field("[]Volume", "What its containers may mount.", { level: VOLUME }),
  restartPolicy: field("string", "Always (the default), OnFailure or Never."),
  terminationGracePeriodSeconds: field(
    "integer",
    "Seconds between the signal to stop and the kill; 30 if it is not written.",
  ),
  activeDeadlineSeconds: field("integer", "Seconds after which the pod has failed."),
  hostNetwork: field("boolean", "Whether it shares the node's network."),
  hostPID: field("boolean", "Whether it sees the node's processes."),
  hostIPC: field("boolean", "Whether it shares the node's IPC."),
  shareProcessNamespace: field("boolean", "Whether its containers see each other's processes."),
  hostUsers: field("boolean", "false: a user namespace of its own, where the runtime can."),
  hostname: field("string", "Host name; the pod's name if it is not written."),
  subdomain: field("string", "Subdomain of its fully qualified name; no DNS record is made."),
  setHostnameAsFQDN: field("boolean", "Whether the host name is the fully qualified one."),
  hostnameOverride: field("string", "Host name instead of every other.", {
    rule: refused({ code: "Unsupported", message: "does not work on this node; use hostname" }, ""),
  }),
  hostAliases: field("[]HostAlias", "Lines to add to its hosts file.", { level: HOST_ALIAS }),
  dnsPolicy: field(
    "string",
    "ClusterFirst or ClusterFirstWithHostNet (the node's clusterDNS if configured, else as Default, with a warning), Default (the node's resolv.conf) or None (dnsConfig alone).",
  ),
  dnsConfig: field("PodDNSConfig", "What is added to its resolv.conf.", { level: DNS_CONFIG }),
  imagePullSecrets: field("[]LocalObjectReference", "Secrets with the passwords of registries.", {
    level: LOCAL_REFERENCE,
  }),
  priority: field("integer", "The higher, the later it is evicted."),
  priorityClassName: field(
    "string",
    "system-node-critical, system-cluster-critical, or a class of the node's configuration.",
  ),
  preemptionPolicy: field("string", "PreemptLowerPriority (the default) or Never."),
  runtimeClassName: field("string", "A runtime of the node's configuration."),
  overhead: field("map[string]Quantity", "What the pod itself needs beside its containers."),
  nodeSelector: field("map[string]string", "Labels that this node must have."),
  resources: field("ResourceRequirements", "What all its containers together may use.", {
    level: RESOURCES,
  }),
  securityContext: field(
    "PodSecurityContext",
    "Who its processes are and what they may do; a container's own goes before it.",
    { level: POD_SECURITY_CONTEXT },
  ),
  os: field("PodOS", "The operating system it needs.", { level: POD_OS }),
  affinity: field("Affinity", "Which nodes it may or would rather run on.", { level: AFFINITY }),
  tolerations: field("[]Toleration", "Taints of the node it bears, such as memory pressure.", {
    level: TOLERATION,
  }),
  nodeName: field("string", "The node it is for; on any other node it is passed over."),
  topologySpreadConstraints: field(
    "[]TopologySpreadConstraint",
    "How pods spread over nodes; there is one node only.",
    { rule: harmless },
  ),
  schedulerName: field("string", "Who places it; there is no scheduler.", { rule: harmless }),
  schedulingGroup: field("PodSchedulingGroup", "Pods that a scheduler places together.", {
    rule: refused(NO_SCHEDULER),
  }),
  workloadRef: field("WorkloadReference", "Pods that a scheduler places together.", {
    rule: refused(NO_SCHEDULER),
  }),
  schedulingGates: field("[]PodSchedulingGate", "What a scheduler waits for.", {
    rule: refused(NO_SCHEDULER, []),
  }),
  resourceClaims: field("[]PodResourceClaim", "Devices that a cluster's driver hands out.", {
    rule: refused(NO_SCHEDULER, []),
  }),
  serviceAccountName: field("string", "Who it is to an API server: default.", {
    rule: refused(NO_SERVICE_ACCOUNTS, "default", ""),
  }),
  serviceAccount: field("string", "Former name of serviceAccountName.", {
    rule: refused(NO_SERVICE_ACCOUNTS, "default", ""),
  }),
  automountServiceAccountToken: field("boolean", "Whether it gets a token for an API server.", {
    rule: ignored("there are no service account tokens without an API server", false),
  }),
  enableServiceLinks: field("boolean", "Whether it gets variables of a cluster's services.", {
    rule: ignored("there are no services without an API server", false),
  }),
  readinessGates: field("[]PodReadinessGate", "Conditions that others set before it is Ready.", {
    rule: ignored("nobody sets their conditions without an API server", []),
  }),
  ephemeralContainers: field("[]EphemeralContainer", "Containers that kubectl debug adds.", {
    rule: refused(
      { code: "Unsupported", message: "cannot be written in a manifest; leave it out" },
      [],
    ),
  }),
};
