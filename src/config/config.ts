// The agent's configuration: one declaration per field. Names are KubeletConfiguration's where one exists.

import { UNKNOWN_FIELD, type Message } from "../api/decode/field-errors.ts";
import {
  boolean,
  fieldOf,
  integer,
  list,
  map,
  objectType,
  oneOf,
  string,
  text,
  unread,
  type Decoded,
} from "../api/schema/codec.ts";
import { allFields } from "../api/schema/find-field.ts";
import { readValue, type ReadOptions } from "../api/schema/read-value.ts";
import {
  between,
  duration,
  exactText,
  MAX_INT32,
  MIN_INT32,
  quantity,
} from "../api/schema/values.ts";
import { sysctlPatternError } from "../api/validation/sysctls.ts";
import {
  DNS_LABEL_FORM,
  IP_FORM,
  itemsOf,
  LABELS,
  SUBDOMAIN_FORM,
} from "../api/validation/validate-names.ts";
import { failed, ok, type FieldError, type Result } from "../lib/result.ts";
import { nearestName, meantText } from "../lib/suggest.ts";
import { claimRootIn, checkClaimRoot } from "./claim-root.ts";
import { endpoint, labelValue, nodeName, path, socketPath } from "./config-values.ts";
import { METERED_DEFAULTS, MQTT, mqttField, NOT_YET } from "./mqtt-config.ts";
import type { Field } from "../api/schema/type.ts";
import type { ResourceList } from "../api/v1/resources.ts";

export type { MqttConfig, PodPolicy } from "./mqtt-config.ts";

/** Higher priorities belong to the system's own classes. kubelet: HighestUserDefinablePriority */
const HIGHEST_PRIORITY = 1_000_000_000;
const NO_PIDS_LIMIT = -1;
const MAX_BACKOFF_MS = 300_000;
const REPORT_MS = 900_000;
const RESERVABLE: readonly string[] = ["cpu", "memory", "ephemeral-storage"];

const NODE = {
  apiVersion: oneOf(["agent/v1"], { about: "Version of the configuration's format." }),
  kind: oneOf(["AgentConfiguration"], { about: "Kind of the file." }),
  staticPodPath: path({
    about: "Directory of manifest files, or one manifest file.",
    default: "/etc/agent/manifests",
  }),
  stateDir: path({ about: "Directory of everything the agent stores.", default: "/var/lib/agent" }),
  podLogsDir: path({ about: "Directory of container logs.", default: "/var/log/pods" }),
  socket: socketPath({
    about: "Unix socket of the local API.",
    default: "/run/agent/agent.sock",
  }),
  trustPath: path({
    about: "Directory of the public root keys, PEM files *.pub, that may sign TrustBundles.",
    default: "/etc/agent/trust.d",
  }),
  containerRuntimeEndpoint: endpoint({
    about: "Unix socket of the container runtime (CRI).",
    default: "unix:///run/containerd/containerd.sock",
  }),
  imageServiceEndpoint: endpoint({
    about: "Unix socket of the CRI image service. Default: containerRuntimeEndpoint.",
  }),
  nodeName: nodeName({
    about:
      "Name of the node, or a template of ${hostname}, ${serial}, ${machineId} and ${mac}. Default: derived from the machine, then kept.",
  }),
  instance: labelValue({
    about: "Separates agents that share one container runtime: each manages only its own pods.",
    default: "default",
  }),
  nodeLabels: map(exactText, { about: "Labels of the node.", ...LABELS }),
  maxPods: fieldOf(between(1, MAX_INT32))({ about: "Most pods on the node.", default: 110 }),
  cgroupDriver: oneOf(["auto", "systemd", "cgroupfs"], {
    about: "How cgroups are created; auto asks the container runtime.",
    default: "auto",
  }),
  cgroupRoot: path({ about: "Parent cgroup of all pods; / is the root.", default: "/" }),
  resolvConf: path({
    about:
      "Resolver configuration that pods inherit. Default: /etc/resolv.conf, or that of systemd-resolved where the former names only its stub.",
  }),
  crashLoopBackOff: fieldOf(
    objectType("CrashLoopBackOffConfig", {
      maxContainerRestartPeriod: fieldOf(duration(1000, 300_000))({
        about: "Longest back-off between two restarts of a crashing container, 1s to 5m.",
        default: MAX_BACKOFF_MS,
      }),
    }),
  )({ about: "Back-off of crashing containers." }),
  nodeStatusReportFrequency: fieldOf(duration(10_000, 7 * 86_400_000))({
    about:
      "Longest time between two complete reports of the node, 10s to 168h. Default: 15m, or 24h with mqtt.profile metered.",
  }),
  logLevel: oneOf(["debug", "info", "warn", "error"], {
    about: "Least severe messages that are logged.",
    default: "info",
  }),
  setClock: boolean({
    about:
      "Step an unsynchronised system clock forward at start, to the latest time that is certain.",
    default: false,
  }),
};

const PODS = {
  clusterDNS: list(text, {
    about:
      "IP addresses of name servers for pods with dnsPolicy ClusterFirst. Default: the node's own.",
    ...itemsOf(IP_FORM),
  }),
  clusterDomain: string({
    about: "Search domain of pods with dnsPolicy ClusterFirst. Default: none.",
    default: "",
    check: (name) => SUBDOMAIN_FORM.check(withoutLastDot(name)),
  }),
  allowedUnsafeSysctls: list(text, {
    about: "Namespaced sysctls, or prefixes that end in *, that pods may set beyond the safe ones.",
    item: sysctlPatternError,
  }),
  seccompDefault: boolean({
    about: "Containers without a seccomp profile get RuntimeDefault instead of Unconfined.",
    default: false,
  }),
  claimRoot: path({
    about:
      "Directory of the data of PersistentVolumeClaims, in <namespace>/<name>. Default: claims in stateDir.",
  }),
  claimRootMustBeMount: boolean({
    about: "Use claimRoot only while a file system is mounted on it.",
    default: false,
  }),
  runtimeClasses: map(exactText, {
    about: "RuntimeClass names, each with the handler of the container runtime that it stands for.",
    key: SUBDOMAIN_FORM.check,
    value: DNS_LABEL_FORM.check,
    schema: {
      propertyNames: SUBDOMAIN_FORM.schema,
      additionalProperties: { type: "string", ...DNS_LABEL_FORM.schema },
    },
  }),
  priorityClasses: map(between(MIN_INT32, HIGHEST_PRIORITY), {
    about: "PriorityClass names, each with its priority, at most 1000000000.",
    key: priorityClassError,
    schema: { propertyNames: { ...SUBDOMAIN_FORM.schema, not: { pattern: "^system-" } } },
  }),
  podPidsLimit: integer({
    about: "Most processes and threads of one pod, at least 1; -1 is no limit.",
    default: NO_PIDS_LIMIT,
    schema: { minimum: NO_PIDS_LIMIT, maximum: MAX_INT32, not: { const: 0 } },
    check: (limit) =>
      limit === NO_PIDS_LIMIT || (limit >= 1 && limit <= MAX_INT32)
        ? undefined
        : `must be between 1 and ${MAX_INT32}, or -1 for no limit`,
  }),
  cpuCFSQuota: boolean({
    about: "Whether a CPU limit is enforced as a CFS quota.",
    default: true,
    keep: true,
  }),
  systemReserved: reserved("the system: what neither pods nor the agent need"),
  kubeReserved: reserved("the agent and the container runtime"),
};

const LATER = {
  staticPodURL: later("string", "URL of manifests."),
  imageArchivePath: later("string", "Directory of image archives to import."),
  listen: later("string", "TCP address of the local API."),
  evictionHard: later("map[string]string", "Thresholds at which pods are evicted at once."),
  evictionSoft: later("map[string]string", "Thresholds at which pods are evicted gracefully."),
  evictionSoftGracePeriod: later("map[string]string", "How long a soft threshold must be met."),
  evictionMinimumReclaim: later("map[string]string", "How much an eviction must free."),
  imageGCHighThresholdPercent: later("integer", "Disk usage at which unused images are removed."),
  imageGCLowThresholdPercent: later("integer", "Disk usage down to which images are removed."),
  imageMinimumGCAge: later("Duration", "Least age of an unused image that is removed."),
  containerLogMaxSize: later("Quantity", "Size at which a container's log is rotated."),
  containerLogMaxFiles: later("integer", "Most log files of one container."),
  registryPullQPS: later("integer", "Most image pulls per second."),
  registryBurst: later("integer", "Most image pulls at once."),
  serializeImagePulls: later("boolean", "Whether images are pulled one after the other."),
  maxParallelImagePulls: later("integer", "Most image pulls in parallel."),
  cgroupsPerQOS: later("boolean", "Whether each QoS class has a cgroup of its own."),
  shutdownGracePeriod: later("Duration", "Grace period of pods when the node shuts down."),
  shutdownGracePeriodCriticalPods: later("Duration", "Part of it that critical pods get."),
  podCIDR: later("string", "Address range of pods."),
  registryAuthFile: later("string", "Credentials for registries."),
};

export const AGENT_CONFIGURATION = objectType(
  "AgentConfiguration",
  {
    ...NODE,
    ...PODS,
    mqtt: fieldOf(MQTT)({ about: "Connection to an MQTT broker. Default: none." }),
    ...LATER,
  },
  { check: (fields, node) => checkClaimRoot(fields, node) },
);
type Fields = Decoded<typeof AGENT_CONFIGURATION>;

function later(type: string, about: string): Field<never> {
  return unread(type, about, NOT_YET);
}

function reserved(whom: string): Field<ResourceList> {
  return map(quantity, {
    about: `Amounts of cpu, memory and ephemeral-storage that are kept from pods, for ${whom}.`,
    key: (resource) =>
      RESERVABLE.includes(resource)
        ? undefined
        : `must be one of ${RESERVABLE.join(", ")}: nothing else can be reserved`,
    schema: { propertyNames: { enum: RESERVABLE } },
  });
}

function priorityClassError(name: string): Message | undefined {
  if (name.startsWith("system-")) return 'must not begin with "system-", which is reserved';
  return SUBDOMAIN_FORM.check(name);
}

/** With the defaults that depend on other fields. */
function complete({ apiVersion: _version, kind: _kind, ...fields }: Fields) {
  const { crashLoopBackOff, nodeStatusReportFrequency, mqtt, ...rest } = fields;
  const metered = mqtt?.profile === "metered" ? METERED_DEFAULTS : undefined;
  return {
    ...rest,
    imageServiceEndpoint: fields.imageServiceEndpoint ?? fields.containerRuntimeEndpoint,
    maxContainerRestartPeriodMs: crashLoopBackOff?.maxContainerRestartPeriod ?? MAX_BACKOFF_MS,
    nodeStatusReportFrequencyMs:
      nodeStatusReportFrequency ?? metered?.nodeStatusReportFrequencyMs ?? REPORT_MS,
    clusterDNS: [...new Set(fields.clusterDNS)],
    clusterDomain: withoutLastDot(fields.clusterDomain),
    allowedUnsafeSysctls: [...new Set(fields.allowedUnsafeSysctls)],
    claimRoot: fields.claimRoot ?? claimRootIn(fields.stateDir),
    ...mqttField(mqtt),
  };
}
/** Complete with defaults. Durations in milliseconds; without `mqtt.url` there is no `mqtt`. */
export type AgentConfig = ReturnType<typeof complete>;

function withoutLastDot(name: string): string {
  return name.replace(/\.$/, "");
}

/** A parsed configuration file as the agent's configuration; undefined or null = an empty file. */
export function decodeConfig(
  document: unknown,
  { locate }: Pick<ReadOptions, "locate"> = {},
): Result<AgentConfig> {
  const read = readValue(AGENT_CONFIGURATION, document, { locate });
  if (!read.ok) return failed(read.errors.map(withOtherPlace));
  return ok(complete(read.value), read.warnings);
}

/** An unknown field may be one of another place, such as `mqtt.url` without `mqtt`. */
function withOtherPlace(error: FieldError): FieldError {
  if (error.message !== UNKNOWN_FIELD) return error;
  const name = error.path.split(".").at(-1) ?? "";
  const paths = allFields(AGENT_CONFIGURATION.level).map((one) => one.path);
  const lastName = (path: string): string => path.split(".").at(-1) ?? "";
  const meant = nearestName(name, paths.map(lastName), 2);
  const place = paths.find((path) => lastName(path) === meant);
  return place === undefined ? error : { ...error, message: `${UNKNOWN_FIELD}${meantText(place)}` };
}
