import { describe, expect, test } from "bun:test";
import { AGENT_CONFIGURATION, decodeConfig } from "../../../src/config/config.ts";
import type { AgentConfig } from "../../../src/config/config.ts";
import { validatorOf } from "../../fakes/json-schema.ts";
import { GROUP_NAME_RULE } from "../../../src/protocol/groups.ts";

const refusedBySchema = validatorOf(AGENT_CONFIGURATION.schema());

/** The JSON Schema accepts it as well. */
function decoded(document: unknown): AgentConfig {
  const result = decodeConfig(document);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  expect(refusedBySchema(document ?? null)).toEqual([]);
  return result.value;
}

function refused(document: unknown): string[] {
  const result = decodeConfig(document);
  if (result.ok) return [];
  return result.errors.map((error) => `${error.path}: ${error.message}`);
}

const DEFAULTS: AgentConfig = {
  staticPodPath: "/etc/agent/manifests",
  staticPodURLHeader: {},
  httpCheckFrequency: 20_000,
  stateDir: "/var/lib/agent",
  podLogsDir: "/var/log/pods",
  socket: "/run/agent/agent.sock",
  trustPath: "/etc/agent/trust.d",
  containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
  imageServiceEndpoint: "unix:///run/containerd/containerd.sock",
  instance: "default",
  nodeLabels: {},
  maxPods: 110,
  cgroupDriver: "auto",
  cgroupRoot: "/",
  maxContainerRestartPeriodMs: 300_000,
  nodeStatusReportFrequencyMs: 900_000,
  logLevel: "info",
  setClock: false,
  maintenanceWindows: [],
  clusterDNS: [],
  clusterDomain: "",
  allowedUnsafeSysctls: [],
  seccompDefault: false,
  claimRoot: "/var/lib/agent/claims",
  claimRootMustBeMount: false,
  runtimeClasses: {},
  priorityClasses: {},
  podPidsLimit: -1,
  cpuCFSQuota: true,
  systemReserved: {},
  kubeReserved: {},
  registryPullQPS: 5,
  registryBurst: 10,
  registryAuthFile: "/etc/agent/registry-auth.json",
  imageArchivePath: "/etc/agent/images",
  pullLimits: { parallel: 1, perSecond: 5, burst: 10 },
  cgroupsPerQOS: true,
  enforceNodeAllocatable: ["pods"],
  memoryThrottlingFactor: 0.9,
  featureGates: {},
  imageGC: { highPercent: 85, lowPercent: 80, minAgeMs: 120_000, maxAgeMs: 0 },
  containerGC: { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 },
  evictionHard: {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
  },
  mergeDefaultEvictionSettings: false,
  evictionSoft: {},
  evictionSoftGracePeriod: {},
  evictionMinimumReclaim: {},
  evictionPressureTransitionPeriod: 300_000,
  evictionMaxPodGracePeriod: 0,
  containerLogMaxSize: 10 * 1024 * 1024,
  containerLogMaxFiles: 5,
  containerLogMaxWorkers: 1,
  containerLogMonitorInterval: 10_000,
  nodeLogsMaxSize: { type: "Percent", percent: 10 },
  shutdownGracePeriod: 0,
  shutdownGracePeriodCriticalPods: 0,
  shutdownGracePeriodByPodPriority: [],
};

describe("an absent, empty or bare configuration", () => {
  test.each([
    ["absent", undefined],
    ["empty", null],
    ["without fields", {}],
    ["with only its kind", { apiVersion: "agent/v1", kind: "AgentConfiguration" }],
    ["with fields left empty", { staticPodPath: null, mqtt: null, nodeLabels: null }],
    ["with MQTT settings but no address", { mqtt: { keepAliveSeconds: 5 } }],
  ])("means the defaults when it is %s", (_case, document) => {
    expect(decoded(document)).toEqual(DEFAULTS);
  });
});

describe("a configuration with every field", () => {
  const cases: Readonly<
    Record<string, readonly [document: object, expected: Partial<AgentConfig>]>
  > = {
    "images come from the runtime's endpoint unless configured otherwise": [
      { containerRuntimeEndpoint: "unix:///run/x.sock" },
      {
        containerRuntimeEndpoint: "unix:///run/x.sock",
        imageServiceEndpoint: "unix:///run/x.sock",
      },
    ],
    "durations are read": [
      {
        crashLoopBackOff: { maxContainerRestartPeriod: "1m30s" },
        nodeStatusReportFrequency: "1h",
      },
      { maxContainerRestartPeriodMs: 90_000, nodeStatusReportFrequencyMs: 3_600_000 },
    ],
    "periods of the shutdown": [
      {
        shutdownGracePeriodByPodPriority: [
          { priority: -5, shutdownGracePeriodSeconds: 7 },
          { priority: 1000 },
        ],
      },
      {
        shutdownGracePeriodByPodPriority: [
          { priority: -5, shutdownGracePeriodSeconds: 7 },
          { priority: 1000, shutdownGracePeriodSeconds: 0 },
        ],
      },
    ],
    "thresholds that replace all defaults": [
      { evictionHard: { "memory.available": "40Mi" } },
      { evictionHard: { "memory.available": "40Mi" } },
    ],
    "thresholds beside the defaults of other signals": [
      {
        evictionHard: {
          "memory.available": "40Mi",
          "nodefs.available": "0%",
          "pid.available": "9",
        },
        mergeDefaultEvictionSettings: true,
      },
      {
        evictionHard: {
          "memory.available": "40Mi",
          "nodefs.available": "0%",
          "nodefs.inodesFree": "5%",
          "imagefs.available": "15%",
          "imagefs.inodesFree": "5%",
          "pid.available": "9",
        },
        mergeDefaultEvictionSettings: true,
      },
    ],
    "garbage collection of images and containers": [
      {
        imageGCHighThresholdPercent: 60,
        imageGCLowThresholdPercent: 0,
        imageMinimumGCAge: "0s",
        imageMaximumGCAge: "168h",
        containerGC: { minAge: "1h", maxPerPodContainer: 0, maxContainers: 20 },
      },
      {
        imageGC: { highPercent: 60, lowPercent: 0, minAgeMs: 0, maxAgeMs: 604_800_000 },
        containerGC: { minAgeMs: 3_600_000, maxPerPodContainer: 0, maxContainers: 20 },
      },
    ],
    "a node name may be a template": [
      { nodeName: "kiosk-${serial}" },
      { nodeName: "kiosk-${serial}" },
    ],
    "labels are kept, empty values too": [
      { nodeLabels: { "example.org/site": "berlin", spare: "" } },
      { nodeLabels: { "example.org/site": "berlin", spare: "" } },
    ],
    "MQTT gets its defaults once it has an address": [
      { mqtt: { url: "mqtt://broker:1883" } },
      {
        mqtt: {
          url: "mqtt://broker:1883",
          topicRoot: "agent/v1",
          keepAliveSeconds: 60,
          reconnectMaxMs: 300_000,
          podStatus: "retained",
          protocolVersion: 5,
          profile: "normal",
          requireSignature: false,
          requireDigest: false,
        },
      },
    ],
    "every MQTT field arrives": [
      {
        mqtt: {
          url: "mqtts://broker",
          username: "u",
          passwordFile: "/p",
          caFile: "/ca",
          certFile: "/c",
          keyFile: "/k",
          alpn: ["x-amzn-mqtt-ca"],
          topicRoot: "fleet/v2",
          fleet: "shop",
          keepAliveSeconds: 30,
          reconnectMax: "10s",
          podStatus: "off",
          protocolVersion: 4,
          profile: "normal",
          requireSignature: false,
          requireDigest: false,
        },
      },
      {
        mqtt: {
          url: "mqtts://broker",
          username: "u",
          passwordFile: "/p",
          caFile: "/ca",
          certFile: "/c",
          keyFile: "/k",
          alpn: ["x-amzn-mqtt-ca"],
          topicRoot: "fleet/v2",
          fleet: "shop",
          keepAliveSeconds: 30,
          reconnectMaxMs: 10_000,
          podStatus: "off",
          protocolVersion: 4,
          profile: "normal",
          requireSignature: false,
          requireDigest: false,
        },
      },
    ],
    "what pods find on this node is read": [
      {
        podCIDR: "10.88.0.0/16,fd00:1::/64",
        clusterDNS: ["10.0.0.10", "fd00::10", "10.0.0.10"],
        clusterDomain: "cluster.local.",
        allowedUnsafeSysctls: ["net.core.*", "kernel.msgmax", "net/ipv4/conf/eth0.1/forwarding"],
        seccompDefault: true,
        claimRoot: "/mnt/usb/claims",
        claimRootMustBeMount: true,
        runtimeClasses: { gvisor: "runsc" },
        priorityClasses: { high: 1_000_000_000, low: -5 },
        podPidsLimit: 512,
        cpuCFSQuota: false,
        systemReserved: { cpu: 0.5, memory: "262144Ki" },
        kubeReserved: { "ephemeral-storage": "1G" },
      },
      {
        podCIDR: "10.88.0.0/16,fd00:1::/64",
        clusterDNS: ["10.0.0.10", "fd00::10"],
        clusterDomain: "cluster.local",
        allowedUnsafeSysctls: ["net.core.*", "kernel.msgmax", "net/ipv4/conf/eth0.1/forwarding"],
        seccompDefault: true,
        claimRoot: "/mnt/usb/claims",
        claimRootMustBeMount: true,
        runtimeClasses: { gvisor: "runsc" },
        priorityClasses: { high: 1_000_000_000, low: -5 },
        podPidsLimit: 512,
        cpuCFSQuota: false,
        systemReserved: { cpu: "500m", memory: "256Mi" },
        kubeReserved: { "ephemeral-storage": "1G" },
      },
    ],
    "claims are below stateDir unless configured otherwise": [
      { stateDir: "/data/agent/" },
      { stateDir: "/data/agent/", claimRoot: "/data/agent/claims" },
    ],
    "claims may lie beside the agent's own directories": [
      { claimRoot: "/var/lib/agent/volumes/", podLogsDir: "/var/lib/agent/volumes-of-logs" },
      { claimRoot: "/var/lib/agent/volumes/", podLogsDir: "/var/lib/agent/volumes-of-logs" },
    ],
    "staticPodPath may contain the default directory of claims": [
      { staticPodPath: "/var/lib" },
      { staticPodPath: "/var/lib", claimRoot: "/var/lib/agent/claims" },
    ],
    "a bare off of YAML 1.1 is the word off": [
      { mqtt: { url: "mqtt://b", podStatus: false } },
      {
        mqtt: {
          url: "mqtt://b",
          topicRoot: "agent/v1",
          keepAliveSeconds: 60,
          reconnectMaxMs: 300_000,
          podStatus: "off",
          protocolVersion: 5,
          profile: "normal",
          requireSignature: false,
          requireDigest: false,
        },
      },
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [document, expected]) => {
    expect(decoded(document)).toEqual({ ...DEFAULTS, ...expected });
  });
});

test("the groups that a node is in, each with its priority or 0", () => {
  const groups = [{ name: "kiosks", priority: -3 }, { name: "berlin.north" }];
  const { mqtt } = decoded({ mqtt: { url: "mqtt://broker.test", groups } });
  expect(mqtt?.groups).toEqual([
    { name: "kiosks", priority: -3 },
    { name: "berlin.north", priority: 0 },
  ]);
});

describe("what is refused", () => {
  const cases: Readonly<Record<string, readonly [document: unknown, errors: string[]]>> = {
    "a list instead of fields": [[], [": Invalid value: []: must be an object"]],
    "a foreign kind": [
      { apiVersion: "v1", kind: "Pod" },
      [
        'apiVersion: Unsupported value: "v1": supported values: "agent/v1"',
        'kind: Unsupported value: "Pod": supported values: "AgentConfiguration"',
      ],
    ],
    "an unknown field, with the nearest known one": [
      { staticPodPaths: "/x" },
      ["staticPodPaths: unknown field (did you mean staticPodPath?)"],
    ],
    "a field in the wrong place, with the right one": [
      { keepAliveSeconds: 5 },
      ["keepAliveSeconds: unknown field (did you mean mqtt.keepAliveSeconds?)"],
    ],
    "a command that is none": [
      { mqtt: { allowCommands: ["reboot"] } },
      ['mqtt.allowCommands[0]: Invalid value: "reboot": must be exec'],
    ],
    "an address range without length": [
      { podCIDR: "10.88.0.0" },
      [
        'podCIDR: Invalid value: "10.88.0.0": must be an address range such as 10.88.0.0/16, or two with a comma between them; "10.88.0.0" is none',
      ],
    ],
    "two address ranges of one family": [
      { podCIDR: "10.88.0.0/16,10.89.0.0/16" },
      [
        'podCIDR: Invalid value: "10.88.0.0/16,10.89.0.0/16": must name one address range of IPv4 and one of IPv6, not two of one family',
      ],
    ],
    "three address ranges": [
      { podCIDR: "10.88.0.0/16,fd00::/64,fd01::/64" },
      [
        'podCIDR: Invalid value: "10.88.0.0/16,fd00::/64,fd01::/64": must name at most two address ranges, one of IPv4 and one of IPv6',
      ],
    ],
    "an address range that is too long": [
      { podCIDR: "fd00::/129" },
      [
        'podCIDR: Invalid value: "fd00::/129": must be an address range such as 10.88.0.0/16, or two with a comma between them; "fd00::/129" is none',
      ],
    ],
    "thresholds of eviction that are wrong": [
      {
        evictionHard: { "memory.free": "1Mi", "nodefs.available": "lots", "pid.available": "110%" },
        evictionSoft: { "memory.available": "1Gi" },
        evictionSoftGracePeriod: { "nodefs.available": "1m", "imagefs.available": "0s" },
        evictionMinimumReclaim: { "memory.available": "-1" },
        evictionPressureTransitionPeriod: "1ms",
        evictionMaxPodGracePeriod: -1,
      },
      [
        'evictionHard[memory.free]: Invalid value: "memory.free": must be one of memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, containerfs.available, containerfs.inodesFree, pid.available',
        'evictionHard[nodefs.available]: Invalid value: "lots": must be an amount such as "100Mi" or "5000", or a share such as "10%", at most "100%"',
        'evictionHard[pid.available]: Invalid value: "110%": must be an amount such as "100Mi" or "5000", or a share such as "10%", at most "100%"',
        'evictionSoftGracePeriod[imagefs.available]: Invalid value: "0s": must be at least 1s',
        'evictionMinimumReclaim[memory.available]: Invalid value: "-1": must be an amount such as "100Mi" or "5000", or a share such as "10%", at most "100%"',
        'evictionPressureTransitionPeriod: Invalid value: "1ms": must be at least 1s',
        "evictionMaxPodGracePeriod: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        "evictionSoftGracePeriod[memory.available]: Required value: evictionSoft has a threshold for memory.available",
        'evictionSoftGracePeriod[nodefs.available]: Invalid value: "1m": evictionSoft has no threshold for nodefs.available',
      ],
    ],
    "a part of the shutdown that is longer than the whole": [
      { shutdownGracePeriod: "10s", shutdownGracePeriodCriticalPods: "20s" },
      [
        'shutdownGracePeriodCriticalPods: Invalid value: "20s": must be at most shutdownGracePeriod, which is 10s',
      ],
    ],
    "periods of the shutdown that are too short, out of range, or twice": [
      {
        shutdownGracePeriod: "500ms",
        shutdownGracePeriodByPodPriority: [{ priority: 1 }, { priority: 1 }],
      },
      [
        'shutdownGracePeriod: Invalid value: "500ms": must be 0s or at least 1s',
        'shutdownGracePeriodByPodPriority: Invalid value: [{"priority":1},{"priority":1}]: must be empty while shutdownGracePeriod is set: it takes the place of both',
        'shutdownGracePeriodByPodPriority: Invalid value: [{"priority":1},{"priority":1}]: must name each priority once; 1 is there twice',
      ],
    ],
    "two ways to give the periods of the shutdown": [
      { shutdownGracePeriod: "10s", shutdownGracePeriodByPodPriority: [{ priority: 1 }] },
      [
        'shutdownGracePeriodByPodPriority: Invalid value: [{"priority":1}]: must be empty while shutdownGracePeriod is set: it takes the place of both',
      ],
    ],
    "groups that are no list": [
      { mqtt: { groups: "kiosks" } },
      ['mqtt.groups: Invalid value: "kiosks": must be a list'],
    ],
    "groups without a name, with a wrong one, twice": [
      {
        mqtt: {
          groups: [
            { priority: 1 },
            { name: "Kiosks" },
            "berlin",
            { name: "a", priority: 0.5 },
            { name: "a" },
            { name: "b", priorty: 1 },
          ],
        },
      },
      [
        `mqtt.groups[0].name: Required value: ${GROUP_NAME_RULE}`,
        `mqtt.groups[1].name: Invalid value: "Kiosks": ${GROUP_NAME_RULE}`,
        'mqtt.groups[2]: Invalid value: "berlin": must be an object',
        "mqtt.groups[3].priority: Invalid value: 0.5: must be an integer",
        "mqtt.groups[5].priorty: unknown field (did you mean priority?)",
        'mqtt.groups[4].name: Duplicate value: "a"',
      ],
    ],
    "a relative path": [
      { staticPodPath: "manifests" },
      ['staticPodPath: Invalid value: "manifests": must be an absolute path'],
    ],
    "a text that is empty": [
      { nodeName: "", mqtt: { url: "mqtts://broker", caFile: "" } },
      [
        'nodeName: Invalid value: "": must not be empty',
        'mqtt.caFile: Invalid value: "": must not be empty',
      ],
    ],
    "lists that would allow nothing": [
      { mqtt: { url: "mqtt://broker", podPolicy: { profile: "baseline", hostPaths: [] } } },
      ["mqtt.podPolicy.hostPaths: Invalid value: []: must contain at least one text"],
    ],
    "a policy for pods without a profile": [
      { mqtt: { podPolicy: {} } },
      ["mqtt.podPolicy.profile: Required value: baseline or privileged"],
    ],
    "a low threshold of images that is not below the high one": [
      { imageGCLowThresholdPercent: 85 },
      [
        "imageGCLowThresholdPercent: Invalid value: 85: must be less than imageGCHighThresholdPercent, which is 85",
      ],
    ],
    "a high threshold of images at or below the low one": [
      { imageGCHighThresholdPercent: 80 },
      [
        "imageGCHighThresholdPercent: Invalid value: 80: must be greater than imageGCLowThresholdPercent, which is 80",
      ],
    ],
    "thresholds of images beyond 100 percent": [
      { imageGCHighThresholdPercent: 101 },
      ["imageGCHighThresholdPercent: Invalid value: 101: must be between 0 and 100, inclusive"],
    ],
    "a maximum age of images below the minimum": [
      { imageMinimumGCAge: "1h", imageMaximumGCAge: "30m" },
      [
        'imageMaximumGCAge: Invalid value: "30m": must be 0s or at least imageMinimumGCAge, which is 1h',
      ],
    ],
    "numbers of dead containers that are none": [
      { containerGC: { maxContainers: -2, maxPerPodContainer: -1 } },
      [
        "containerGC.maxPerPodContainer: Invalid value: -1: must be between 0 and 1000, inclusive",
        "containerGC.maxContainers: Invalid value: -2: must be between 0 and 2147483647, or -1 for no limit",
      ],
    ],
    "a path that climbs": [
      { stateDir: "/var/lib/../x" },
      ['stateDir: Invalid value: "/var/lib/../x": must not contain ".."'],
    ],
    "a socket path longer than the kernel takes": [
      { socket: `/${"x".repeat(107)}` },
      [
        "socket: Invalid value: \"/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…: must be at most 107 bytes long, as a unix socket's path; it has 108",
      ],
    ],
    ...Object.fromEntries(
      (
        [
          ["/", "/var/lib/agent"],
          ["/etc//agent/.", "/etc/agent/manifests"],
          ["/etc/agent/manifests", "/etc/agent/manifests"],
          ["/var/lib", "/var/lib/agent"],
          ["/var/lib/agent/", "/var/lib/agent"],
          ["/var/lib/agent/pods", "/var/lib/agent/pods"],
          ["/var/lib/agent/desired/x", "/var/lib/agent/desired"],
          ["/var/log/pods", "/var/log/pods"],
          ["/run", "/run/agent/agent.sock"],
        ] as const
      ).map(([claimRoot, own]) => [
        `claims where a pod could name ${own} one: ${claimRoot}`,
        [
          { claimRoot },
          [
            `claimRoot: Invalid value: ${JSON.stringify(claimRoot)}: must be neither within nor around ${own}, which the agent itself uses`,
          ],
        ] as const,
      ]),
    ),
    "an endpoint that is no unix socket": [
      { containerRuntimeEndpoint: "tcp://127.0.0.1:1" },
      [
        'containerRuntimeEndpoint: Invalid value: "tcp://127.0.0.1:1": must be the address of a unix socket, such as unix:///run/containerd/containerd.sock',
      ],
    ],
    "numbers out of range, in the wrong form, or fractional": [
      { maxPods: 0, mqtt: { keepAliveSeconds: "60" } },
      [
        "maxPods: Invalid value: 0: must be between 1 and 2147483647, inclusive",
        'mqtt.keepAliveSeconds: Invalid value: "60": must be an integer',
      ],
    ],
    "a number where a duration is wanted": [
      { nodeStatusReportFrequency: 900 },
      ["nodeStatusReportFrequency: Invalid value: 900: must be a duration such as 1m30s"],
    ],
    "a back-off beyond Kubernetes' bounds": [
      { crashLoopBackOff: { maxContainerRestartPeriod: "10m" } },
      ['crashLoopBackOff.maxContainerRestartPeriod: Invalid value: "10m": must be at most 5m'],
    ],
    "an instance that is no label value": [
      { instance: "a b" },
      [
        "instance: Invalid value: \"a b\": must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends",
      ],
    ],
    "an unknown template variable": [
      { nodeName: "${host}" },
      [
        'nodeName: Invalid value: "${host}": must not contain ${host}; a template may contain ${hostname}, ${serial}, ${machineId}, ${mac}',
      ],
    ],
    "a label key that is none": [
      { nodeLabels: { "a b": "c" } },
      [
        "nodeLabels[a b]: Invalid value: \"a b\": its name must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends",
      ],
    ],
    "a label that is a number": [
      { nodeLabels: { floor: 3 } },
      ["nodeLabels.floor: Invalid value: 3: must be a string; put it in quotes"],
    ],
    "a password in the address, without repeating it": [
      { mqtt: { url: "mqtt://u:secret@broker" } },
      [
        'mqtt.url: Invalid value: "mqtt://…@broker": must not contain user or password; use mqtt.username and mqtt.passwordFile',
      ],
    ],
    "an address that cannot be read, its password unseen": [
      { mqtt: { url: "mqtt://u:secret@bro ker:x" } },
      [
        'mqtt.url: Invalid value: "mqtt://…@bro ker:x": must be an address such as mqtt://broker.example:1883',
      ],
    ],
    "an address of another protocol": [
      { mqtt: { url: "http://broker" } },
      [
        'mqtt.url: Invalid value: "http://broker": must begin with mqtt://, mqtts://, ws:// or wss://',
      ],
    ],
    "TLS settings that a plain address would ignore": [
      { mqtt: { url: "mqtt://broker", caFile: "/ca.pem" } },
      ["mqtt.caFile: Forbidden: needs an address with TLS: mqtts:// or wss://"],
    ],
    "alpn over a WebSocket": [
      { mqtt: { url: "wss://broker", alpn: ["mqtt"] } },
      ["mqtt.alpn: Forbidden: needs mqtts://; a WebSocket always negotiates http/1.1"],
    ],
    "half a client certificate": [
      { mqtt: { url: "mqtts://broker", certFile: "/c.pem" } },
      ["mqtt.keyFile: Required value: the key of mqtt.certFile"],
    ],
    "a topic root with a wildcard": [
      { mqtt: { url: "mqtt://broker", topicRoot: "agent/#" } },
      [
        'mqtt.topicRoot: Invalid value: "agent/#": must be one or two topic levels such as agent/v1',
      ],
    ],
    "a name server that is no address": [
      { clusterDNS: ["10.0.0.10", "dns.local"] },
      ['clusterDNS[1]: Invalid value: "dns.local": must be an IP address'],
    ],
    "one name server that is no list": [
      { clusterDNS: "10.0.0.10" },
      ['clusterDNS: Invalid value: "10.0.0.10": must be a list'],
    ],
    "a domain that is none": [
      { clusterDomain: "Cluster_Local" },
      [
        "clusterDomain: Invalid value: \"Cluster_Local\": must be lower-case letters, digits, '-' or '.', with a letter or digit at both ends (RFC 1123 subdomain)",
      ],
    ],
    "a sysctl of the whole node": [
      { allowedUnsafeSysctls: ["vm.*"] },
      [
        'allowedUnsafeSysctls[0]: Invalid value: "vm.*": must be a namespaced sysctl (net.*, kernel.shm*, kernel.msg*, kernel.sem or fs.mqueue.*): any other changes the whole node',
      ],
    ],
    "every sysctl at once": [
      { allowedUnsafeSysctls: ["*"] },
      [
        'allowedUnsafeSysctls[0]: Invalid value: "*": must be a namespaced sysctl (net.*, kernel.shm*, kernel.msg*, kernel.sem or fs.mqueue.*): any other changes the whole node',
      ],
    ],
    "a star in the middle": [
      { allowedUnsafeSysctls: ["net.*.rmem"] },
      [
        'allowedUnsafeSysctls[0]: Invalid value: "net.*.rmem": must be the name of a sysctl, or a prefix ending in * such as net.core.*',
      ],
    ],
    "a class of Kubernetes' own, and one without a whole number": [
      { priorityClasses: { "system-mine": 5, high: "5" } },
      [
        'priorityClasses.system-mine: Invalid value: "system-mine": must not begin with "system-", which is reserved',
        'priorityClasses.high: Invalid value: "5": must be an integer',
      ],
    ],
    "a priority beyond Kubernetes' bounds": [
      { priorityClasses: { high: 1_000_000_001 } },
      [
        "priorityClasses.high: Invalid value: 1000000001: must be between -2147483648 and 1000000000, inclusive",
      ],
    ],
    "a handler that is no name": [
      { runtimeClasses: { gvisor: "run sc", Kata: "kata" } },
      [
        "runtimeClasses.gvisor: Invalid value: \"run sc\": must be lower-case letters, digits or '-', with a letter or digit at both ends (RFC 1123 label)",
        "runtimeClasses.Kata: Invalid value: \"Kata\": must be lower-case letters, digits, '-' or '.', with a letter or digit at both ends (RFC 1123 subdomain)",
      ],
    ],
    "a limit of no process at all": [
      { podPidsLimit: 0 },
      ["podPidsLimit: Invalid value: 0: must be between 1 and 2147483647, or -1 for no limit"],
    ],
    "a string instead of a boolean": [
      { cpuCFSQuota: "no" },
      ['cpuCFSQuota: Invalid value: "no": must be true or false'],
    ],
    "reserves that are no amounts, or of what cannot be reserved": [
      { systemReserved: { cpu: "-1", memory: "lots" }, kubeReserved: { gpu: 1 } },
      [
        'systemReserved.cpu: Invalid value: "-1": must be greater than or equal to 0',
        'systemReserved.memory: Invalid value: "lots": must be a quantity such as "500m", "1.5" or "64Mi"',
        'kubeReserved.gpu: Invalid value: "gpu": must be one of cpu, memory, ephemeral-storage, pid: nothing else can be reserved',
      ],
    ],
    "all errors at once": [
      { maxPods: -1, logLevel: "loud", stateDir: 5 },
      [
        "stateDir: Invalid value: 5: must be a string; put it in quotes",
        "maxPods: Invalid value: -1: must be between 1 and 2147483647, inclusive",
        'logLevel: Unsupported value: "loud": supported values: "debug", "info", "warn", "error"',
      ],
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [document, errors]) => {
    expect(refused(document)).toEqual(errors);
  });
});

test.each(["__proto__", "constructor", "toString"])("refuses the field %s", (name) => {
  expect(refused(JSON.parse(`{"${name}": "/x"}`)).join()).toStartWith(`${name}: unknown field`);
});

test("errors carry the place a locator knows", () => {
  const result = decodeConfig(
    { mqtt: { urll: "x" } },
    { locate: (keys) => ({ line: keys.length, column: 7 }) },
  );
  expect(result.ok ? [] : result.errors).toEqual([
    {
      path: "mqtt.urll",
      message: "unknown field (did you mean url?)",
      code: "UnknownField",
      line: 2,
      column: 7,
    },
  ]);
});

describe("what is enforced on cgroups", () => {
  test.each([
    [{ systemReserved: { pid: 100 }, kubeReserved: { pid: "50" } }],
    [{ cgroupsPerQOS: false, enforceNodeAllocatable: ["none"] }],
    [{ cgroupsPerQOS: false, enforceNodeAllocatable: [] }],
    [{ enforceNodeAllocatable: ["system-reserved"], systemReservedCgroup: "/system.slice" }],
    [{ featureGates: { MemoryQoS: true }, memoryThrottlingFactor: 1 }],
  ])("%j is accepted", (document) => {
    expect(decoded(document)).toMatchObject(
      "kubeReserved" in document
        ? { systemReserved: { pid: "100" }, kubeReserved: { pid: "50" } }
        : document,
    );
  });

  test.each([
    [
      { cgroupsPerQOS: false },
      "enforceNodeAllocatable: Invalid value: must be [none] while cgroupsPerQOS is false",
    ],
    [
      { cgroupsPerQOS: false, enforceNodeAllocatable: [], podPidsLimit: 9 },
      "podPidsLimit: Invalid value: 9: must be -1 while cgroupsPerQOS is false: a pod has no cgroup",
    ],
    [
      { enforceNodeAllocatable: ["pods", "none"] },
      "enforceNodeAllocatable: none must be the only item",
    ],
    [
      { enforceNodeAllocatable: ["kube-reserved"] },
      "enforceNodeAllocatable: kube-reserved needs kubeReservedCgroup",
    ],
    [
      {
        enforceNodeAllocatable: ["system-reserved", "system-reserved-compressible"],
        systemReservedCgroup: "/a",
      },
      "enforceNodeAllocatable: must not contain both system-reserved and system-reserved-compressible",
    ],
    [{ memoryThrottlingFactor: 0 }, "memoryThrottlingFactor: must be greater than 0 and at most 1"],
    [{ featureGates: { Sidecars: true } }, "featureGates.Sidecars: must be one of MemoryQoS"],
    [{ systemReserved: { gpu: 1 } }, "systemReserved.gpu: must be one of cpu, memory"],
  ])("%j is refused", (document, error) => {
    const [path = "", words = ""] = error.split(/: (?:Invalid value: (?:9: )?)?/);
    const [found] = refused(document);
    expect(found).toStartWith(path);
    expect(found).toContain(words);
  });
});
