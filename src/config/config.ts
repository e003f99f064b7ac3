// The agent's configuration: one declaration per field. Names are KubeletConfiguration's where one exists.

import { UNKNOWN_FIELD, type Message } from "../api/decode/field-errors.ts";
import {
  boolean,
  fieldOf,
  list,
  map,
  objectType,
  oneOf,
  string,
  text,
  type Decoded,
} from "../api/schema/codec.ts";
import { allFields } from "../api/schema/find-field.ts";
import { readValue, type ReadOptions } from "../api/schema/read-value.ts";
import {
  between,
  duration,
  exactText,
  filledText,
  MAX_INT32,
  MIN_INT32,
} from "../api/schema/values.ts";
import { MAINTENANCE_WINDOWS } from "../api/window/maintenance-window.ts";
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
import { CGROUPS, checkCgroups } from "./cgroup-config.ts";
import { checkManifestUrl, MANIFEST_URL_FIELDS } from "./manifest-url-config.ts";
import { claimRootIn, checkClaimRoot } from "./claim-root.ts";
import { checkGarbage, GARBAGE, garbagePolicies } from "./image-gc-config.ts";
import { endpoint, labelValue, nodeName, path, socketPath } from "./config-values.ts";
import { checkImages, IMAGE_FIELDS, pullLimits } from "./image-config.ts";
import { checkEviction, EVICTION, hardThresholds } from "./eviction-config.ts";
import { checkListen, LISTEN_FIELDS } from "./listen-config.ts";
import { LOGS } from "./log-config.ts";
import { checkShutdown, SHUTDOWN } from "./shutdown-config.ts";
import { podCIDRError } from "./pod-cidr.ts";
import { METERED_DEFAULTS, MQTT, mqttField } from "./mqtt-config.ts";

export type { MqttConfig, PodPolicy } from "./mqtt-config.ts";

/** Higher priorities belong to the system's own classes. kubelet: HighestUserDefinablePriority */
const HIGHEST_PRIORITY = 1_000_000_000;
const MAX_BACKOFF_MS = 300_000;
const REPORT_MS = 900_000;

const NODE = {
  apiVersion: oneOf(["agent/v1"], { about: "Version of the configuration's format: agent/v1." }),
  kind: oneOf(["AgentConfiguration"], { about: "Kind of the file: AgentConfiguration." }),
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
  provisioningPath: path({
    about:
      "Directory that configuration, certificates, keys, manifests and image archives are taken over from at the first start. Default: /boot/firmware/agent, else /boot/agent.",
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
  podCIDR: fieldOf(filledText(podCIDRError))({
    about:
      "Address range of pods, or one of IPv4 and one of IPv6 with a comma, told to the container runtime; containerd fills its CNI conf_template with it. Default: the runtime's own network configuration.",
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
};

export const AGENT_CONFIGURATION = objectType(
  "AgentConfiguration",
  {
    ...NODE,
    ...LISTEN_FIELDS,
    ...MANIFEST_URL_FIELDS,
    ...PODS,
    ...IMAGE_FIELDS,
    ...CGROUPS,
    ...GARBAGE,
    ...EVICTION,
    ...LOGS,
    ...SHUTDOWN,
    maintenanceWindows: fieldOf(MAINTENANCE_WINDOWS)({
      about:
        "Windows outside of which updates by documents wait, where neither the document nor the pod has windows of its own. Default: none.",
      default: [],
    }),
    mqtt: fieldOf(MQTT)({ about: "Connection to an MQTT broker. Default: none." }),
  },
  {
    check: (fields, node) => {
      checkListen(fields, node);
      checkManifestUrl(fields, node);
      checkClaimRoot(fields, node);
      checkImages(fields, node);
      checkCgroups(fields, node);
      checkGarbage(fields, node);
      checkEviction(fields, node);
      checkShutdown(fields, node);
    },
  },
);
/** As a file has them, with the defaults of single fields. Durations in milliseconds. */
export type ConfigFields = Decoded<typeof AGENT_CONFIGURATION>;

function priorityClassError(name: string): Message | undefined {
  if (name.startsWith("system-")) return 'must not begin with "system-", which is reserved';
  return SUBDOMAIN_FORM.check(name);
}

/** With the defaults that depend on other fields. */
export function completeConfig({ apiVersion: _version, kind: _kind, ...fields }: ConfigFields) {
  const {
    crashLoopBackOff,
    nodeStatusReportFrequency,
    mqtt,
    serializeImagePulls: _serial,
    maxParallelImagePulls: _parallel,
    ...rest
  } = withoutGarbage(fields);
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
    pullLimits: pullLimits(fields),
    ...garbagePolicies(fields),
    evictionHard: hardThresholds(fields),
    ...mqttField(mqtt),
  };
}

function withoutGarbage(fields: ConfigFields) {
  const {
    imageGCHighThresholdPercent: _high,
    imageGCLowThresholdPercent: _low,
    imageMinimumGCAge: _least,
    imageMaximumGCAge: _most,
    containerGC: _containers,
    ...rest
  } = fields;
  return rest;
}

/** Complete with defaults. Durations in milliseconds; without `mqtt.url` there is no `mqtt`. */
export type AgentConfig = ReturnType<typeof completeConfig>;

function withoutLastDot(name: string): string {
  return name.replace(/\.$/, "");
}

/** A parsed configuration file as the agent's configuration; undefined or null = an empty file. */
export function decodeConfig(
  document: unknown,
  options: Pick<ReadOptions, "locate"> = {},
): Result<AgentConfig> {
  const read = readConfigFields(document, options);
  return read.ok ? ok(completeConfig(read.value), read.warnings) : read;
}

/** The same without the defaults that depend on other fields. */
export function readConfigFields(
  document: unknown,
  { locate }: Pick<ReadOptions, "locate"> = {},
): Result<ConfigFields> {
  const read = readValue(AGENT_CONFIGURATION, document, { locate });
  return read.ok ? read : failed(read.errors.map(withOtherPlace));
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
