// What a configuration means where it says nothing, and the names a configuration file may use (DESIGN §1).

import type { AgentConfig, MqttConfig } from "./config.ts";

type Defaulted = Omit<
  AgentConfig,
  "nodeName" | "mqtt" | "resolvConf" | "imageServiceEndpoint" | "nodeLabels" | "claimRoot"
>;

/** The defaults that depend on nothing. */
export const CONFIG_DEFAULTS: Defaulted = {
  staticPodPath: "/etc/agent/manifests",
  stateDir: "/var/lib/agent",
  podLogsDir: "/var/log/pods",
  socket: "/run/agent/agent.sock",
  trustPath: "/etc/agent/trust.d",
  containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
  instance: "default",
  maxPods: 110,
  cgroupDriver: "auto",
  cgroupRoot: "/",
  maxContainerRestartPeriodMs: 300_000,
  nodeStatusReportFrequencyMs: 900_000,
  logLevel: "info",
  setClock: false,
  clusterDNS: [],
  clusterDomain: "",
  allowedUnsafeSysctls: [],
  seccompDefault: false,
  claimRootMustBeMount: false,
  runtimeClasses: {},
  priorityClasses: {},
  podPidsLimit: -1,
  cpuCFSQuota: true,
  systemReserved: {},
  kubeReserved: {},
};

/** The defaults of `mqtt`, once it has an `url`. */
export const MQTT_DEFAULTS: Pick<
  MqttConfig,
  | "topicRoot"
  | "keepAliveSeconds"
  | "reconnectMaxMs"
  | "podStatus"
  | "protocolVersion"
  | "profile"
  | "requireSignature"
  | "requireDigest"
> = {
  topicRoot: "agent/v1",
  keepAliveSeconds: 60,
  reconnectMaxMs: 300_000,
  podStatus: "retained",
  protocolVersion: 5,
  profile: "normal",
  requireSignature: false,
  requireDigest: false,
};

/** What `profile: metered` means where the file says nothing else. */
export const METERED_DEFAULTS = {
  keepAliveSeconds: 1140,
  podStatus: "off",
  nodeStatusReportFrequencyMs: 86_400_000,
} as const;

/** Names that work now, by parent path ("" = top level). */
export const KNOWN_FIELDS: Readonly<Record<string, readonly string[]>> = {
  "": [
    "apiVersion",
    "kind",
    "staticPodPath",
    "stateDir",
    "podLogsDir",
    "socket",
    "trustPath",
    "containerRuntimeEndpoint",
    "imageServiceEndpoint",
    "nodeName",
    "instance",
    "nodeLabels",
    "maxPods",
    "cgroupDriver",
    "cgroupRoot",
    "resolvConf",
    "crashLoopBackOff",
    "nodeStatusReportFrequency",
    "logLevel",
    "clusterDNS",
    "clusterDomain",
    "allowedUnsafeSysctls",
    "seccompDefault",
    "claimRoot",
    "claimRootMustBeMount",
    "runtimeClasses",
    "priorityClasses",
    "podPidsLimit",
    "cpuCFSQuota",
    "systemReserved",
    "kubeReserved",
    "setClock",
    "mqtt",
  ],
  crashLoopBackOff: ["maxContainerRestartPeriod"],
  mqtt: [
    "url",
    "username",
    "passwordFile",
    "caFile",
    "certFile",
    "keyFile",
    "alpn",
    "topicRoot",
    "fleet",
    "keepAliveSeconds",
    "reconnectMax",
    "podStatus",
    "protocolVersion",
    "profile",
    "requireSignature",
    "requireDigest",
    "podPolicy",
    "groups",
  ],
  "mqtt.groups": ["name", "priority"],
  "mqtt.podPolicy": ["profile", "registries", "hostPaths", "devices"],
};

/** Names that are part of the design but do nothing yet: refused, so that nobody relies on them. */
export const UNBUILT_FIELDS: Readonly<Record<string, readonly string[]>> = {
  "": [
    "staticPodURL",
    "imageArchivePath",
    "listen",
    "evictionHard",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "evictionMinimumReclaim",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "imageMinimumGCAge",
    "containerLogMaxSize",
    "containerLogMaxFiles",
    "registryPullQPS",
    "registryBurst",
    "serializeImagePulls",
    "maxParallelImagePulls",
    "cgroupsPerQOS",
    "shutdownGracePeriod",
    "shutdownGracePeriodCriticalPods",
    "podCIDR",
    "registryAuthFile",
  ],
  crashLoopBackOff: [],
  mqtt: ["allowCommands"],
};
