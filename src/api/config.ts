// The agent's configuration, defaulted. Field names are KubeletConfiguration's where one exists (DESIGN §1).

export interface AgentConfig {
  readonly staticPodPath: string;
  readonly stateDir: string;
  readonly podLogsDir: string;
  readonly socket: string;
  readonly containerRuntimeEndpoint: string;
  readonly imageServiceEndpoint: string;
  /** A name or a template of ${hostname} ${serial} ${machineId} ${mac}; absent = the default rule of MQTT.md §7. */
  readonly nodeName?: string;
  readonly instance: string;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly maxPods: number;
  readonly cgroupDriver: "auto" | "systemd" | "cgroupfs";
  /** Parent cgroup of all pods; "/" = the root. */
  readonly cgroupRoot: string;
  readonly resolvConf: string;
  /** Longest crash-loop back-off in ms. */
  readonly maxContainerRestartPeriodMs: number;
  /** Refresh of `reported` in ms. */
  readonly nodeStatusReportFrequencyMs: number;
  readonly logLevel: "debug" | "info" | "warn" | "error";
  /** Absent = no MQTT at all. */
  readonly mqtt?: MqttConfig;
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
  /** Per-pod status topics. */
  readonly podStatus: "retained" | "off";
  /** 5 (falls back to 4 = MQTT 3.1.1 when the broker refuses it) or 4. */
  readonly protocolVersion: 4 | 5;
}
