// The agent's configuration, defaulted. Field names are KubeletConfiguration's where one exists (DESIGN §1).

import type { GroupMember } from "../protocol/groups.ts";
import type { ResourceList } from "../api/v1/pod.ts";

export interface AgentConfig extends PodSettings {
  readonly staticPodPath: string;
  readonly stateDir: string;
  readonly podLogsDir: string;
  readonly socket: string;
  readonly containerRuntimeEndpoint: string;
  readonly imageServiceEndpoint: string;
  /** A name or a template of ${hostname} ${serial} ${machineId} ${mac}; absent = the default rule of MQTT.md §7. */
  readonly nodeName?: string;
  readonly instance: string;
  /** Directory of the public root keys (`*.pub`, PEM) that documents may be signed with. */
  readonly trustPath: string;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly maxPods: number;
  readonly cgroupDriver: "auto" | "systemd" | "cgroupfs";
  /** Parent cgroup of all pods; "/" = the root. */
  readonly cgroupRoot: string;
  /** Absent = /etc/resolv.conf, or systemd-resolved's list where that names only its stub, decided for each pod. */
  readonly resolvConf?: string;
  /** Longest crash-loop back-off in ms. */
  readonly maxContainerRestartPeriodMs: number;
  /** Refresh of `reported` in ms. */
  readonly nodeStatusReportFrequencyMs: number;
  readonly logLevel: "debug" | "info" | "warn" | "error";
  /** A system clock that nothing keeps in step is stepped forward at the start, to the latest time known for sure. */
  readonly setClock: boolean;
  /** Absent = no MQTT at all. */
  readonly mqtt?: MqttConfig;
}

/** What pods find on this node and may ask of it. */
export interface PodSettings {
  /** Addresses for `dnsPolicy: ClusterFirst`; empty = such pods get the node's own servers. */
  readonly clusterDNS: readonly string[];
  /** Search domain beside `clusterDNS`; "" = none. */
  readonly clusterDomain: string;
  /** Names, or prefixes ending in `*`, of namespaced sysctls beyond the safe set. */
  readonly allowedUnsafeSysctls: readonly string[];
  /** A container without a profile of its own gets RuntimeDefault instead of Unconfined. */
  readonly seccompDefault: boolean;
  /** Below it lies `<namespace>/<name>` of every claim. */
  readonly claimRoot: string;
  readonly claimRootMustBeMount: boolean;
  /** Name of the class → the runtime's handler. */
  readonly runtimeClasses: Readonly<Record<string, string>>;
  readonly priorityClasses: Readonly<Record<string, number>>;
  /** Most processes and threads in one pod; -1 = no limit. */
  readonly podPidsLimit: number;
  /** False = a CPU limit is no quota. */
  readonly cpuCFSQuota: boolean;
  /** Kept from pods: allocatable = capacity − both. Quantities in canonical text. */
  readonly systemReserved: ResourceList;
  readonly kubeReserved: ResourceList;
}

export interface MqttConfig {
  readonly url: string;
  readonly username?: string;
  readonly passwordFile?: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly alpn?: readonly string[];
  readonly topicRoot: string;
  readonly fleet?: string;
  readonly keepAliveSeconds: number;
  readonly reconnectMaxMs: number;
  /** `metered`: as few bytes as can be (MQTT.md §4). */
  readonly profile: "normal" | "metered";
  /** Per-pod status topics. */
  readonly podStatus: "retained" | "off";
  /** 5 (falls back to 4 = MQTT 3.1.1 when the broker refuses it) or 4. */
  readonly protocolVersion: 4 | 5;
  /** Signed documents only, for good, whether or not a key has been seen. */
  readonly requireSignature: boolean;
  /** Images of documents must be named by digest. */
  readonly requireDigest: boolean;
  /** Absent = baseline while documents are unsigned, privileged once signatures are required. */
  readonly podPolicy?: PodPolicy;
  /** Groups that the node is in by its own word, beside those of its document; each name once. Absent = none. */
  readonly groups?: readonly GroupMember[];
}

/** What pods of documents may ask of the node (MQTT.md §2). */
export interface PodPolicy {
  readonly profile: "baseline" | "privileged";
  /** Where images may come from, as prefixes of the whole reference; absent = anywhere. */
  readonly registries?: readonly string[];
  /** Host paths, each with all below it; absent = as the profile says. */
  readonly hostPaths?: readonly string[];
  /** Device paths and resources; absent = as the profile says. */
  readonly devices?: readonly string[];
}
