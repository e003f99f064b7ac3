import { describe, expect, test } from "bun:test";
import { decodeConfig } from "../../../src/config/config-decode.ts";
import type { AgentConfig } from "../../../src/config/config.ts";
import { GROUP_NAME_RULE } from "../../../src/protocol/groups.ts";

function decoded(document: unknown): AgentConfig {
  const result = decodeConfig(document);
  if (!result.ok) throw new Error(JSON.stringify(result.errors));
  return result.value;
}

function refused(document: unknown): string[] {
  const result = decodeConfig(document);
  if (result.ok) return [];
  return result.errors.map((error) => `${error.path}: ${error.message}`);
}

const DEFAULTS: AgentConfig = {
  staticPodPath: "/etc/agent/manifests",
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

describe("a configuration that says something", () => {
  const cases: Readonly<
    Record<string, readonly [document: object, expected: Partial<AgentConfig>]>
  > = {
    "images come from the runtime's endpoint unless told otherwise": [
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
    "claims lie in the state unless told otherwise": [
      { stateDir: "/data/agent/" },
      { stateDir: "/data/agent/", claimRoot: "/data/agent/claims" },
    ],
    "claims may lie beside the agent's own directories": [
      { claimRoot: "/var/lib/agent/volumes/", podLogsDir: "/var/lib/agent/volumes-of-logs" },
      { claimRoot: "/var/lib/agent/volumes/", podLogsDir: "/var/lib/agent/volumes-of-logs" },
    ],
    "nobody's claims lie in the way of where they always lie": [
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
    "a list instead of fields": [[], [": must be a mapping of fields, not a list"]],
    "a foreign kind": [
      { apiVersion: "v1", kind: "Pod" },
      ['apiVersion: must be agent/v1, not "v1"', 'kind: must be AgentConfiguration, not "Pod"'],
    ],
    "an unknown field, with the nearest known one": [
      { staticPodPaths: "/x" },
      ["staticPodPaths: unknown field (did you mean staticPodPath?)"],
    ],
    "a field in the wrong place, with the right one": [
      { keepAliveSeconds: 5 },
      ["keepAliveSeconds: unknown field (did you mean mqtt.keepAliveSeconds?)"],
    ],
    "what is designed but not built": [
      { evictionHard: {}, mqtt: { allowCommands: [] } },
      [
        "evictionHard: not supported yet; remove it",
        "mqtt.allowCommands: not supported yet; remove it",
      ],
    ],
    "groups that are no list": [
      { mqtt: { groups: "kiosks" } },
      ['mqtt.groups: must be a list such as [{name: kiosks, priority: 10}], not "kiosks"'],
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
        `mqtt.groups[0].name: ${GROUP_NAME_RULE}`,
        `mqtt.groups[1].name: ${GROUP_NAME_RULE}, not "Kiosks"`,
        'mqtt.groups[2]: must be a mapping of fields, not "berlin"',
        "mqtt.groups[3].priority: must be a whole number, not 0.5",
        "mqtt.groups[4].name: a is there already",
        "mqtt.groups[5].priorty: unknown field (did you mean priority?)",
      ],
    ],
    "a relative path": [
      { staticPodPath: "manifests" },
      ['staticPodPath: must be an absolute path, not "manifests"'],
    ],
    "a path that climbs": [{ stateDir: "/var/lib/../x" }, ['stateDir: must not contain ".."']],
    "a socket path longer than the kernel takes": [
      { socket: `/${"x".repeat(107)}` },
      ["socket: is 108 bytes long; a unix socket's path may have 107"],
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
          [`claimRoot: must not lie in ${own}, nor around it: that is the agent's own`],
        ] as const,
      ]),
    ),
    "an endpoint that is no unix socket": [
      { containerRuntimeEndpoint: "tcp://127.0.0.1:1" },
      [
        'containerRuntimeEndpoint: must be like unix:///run/containerd/containerd.sock, not "tcp://127.0.0.1:1"',
      ],
    ],
    "numbers out of range, in the wrong form, or fractional": [
      { maxPods: 0, mqtt: { keepAliveSeconds: "60" } },
      [
        'mqtt.keepAliveSeconds: must be a whole number, not "60"',
        "maxPods: must be between 1 and 2147483647, not 0",
      ],
    ],
    "a number where a duration is wanted": [
      { nodeStatusReportFrequency: 900 },
      ["nodeStatusReportFrequency: must be a duration like 1m30s, not 900"],
    ],
    "a back-off beyond Kubernetes' bounds": [
      { crashLoopBackOff: { maxContainerRestartPeriod: "10m" } },
      ['crashLoopBackOff.maxContainerRestartPeriod: must be at most 300s, not "10m"'],
    ],
    "an instance that is no label value": [
      { instance: "a b" },
      [
        "instance: must be a label value (at most 63 letters, digits, '-', '_' or '.', a letter or digit at both ends), not \"a b\"",
      ],
    ],
    "a word no template knows": [
      { nodeName: "${host}" },
      [
        "nodeName: knows no ${host}; a template may use ${hostname}, ${serial}, ${machineId}, ${mac}",
      ],
    ],
    "a label key that is none": [
      { nodeLabels: { "a b": "c" } },
      [
        "nodeLabels[a b]: \"a b\" is no label key (at most 63 letters, digits, '-', '_' or '.', a letter or digit at both ends)",
      ],
    ],
    "a label that is a number": [
      { nodeLabels: { floor: 3 } },
      [
        "nodeLabels.floor: must be a label value (at most 63 letters, digits, '-', '_' or '.', a letter or digit at both ends), not 3",
      ],
    ],
    "a password in the address, without repeating it": [
      { mqtt: { url: "mqtt://u:secret@broker" } },
      ["mqtt.url: must not carry user or password; use mqtt.username and mqtt.passwordFile"],
    ],
    "an address that cannot be read, its password unseen": [
      { mqtt: { url: "mqtt://u:secret@bro ker:x" } },
      ['mqtt.url: must be an address like mqtt://broker.example:1883, not "mqtt://…@bro ker:x"'],
    ],
    "an address of another protocol": [
      { mqtt: { url: "http://broker" } },
      ["mqtt.url: must begin with mqtt://, mqtts://, ws:// or wss://, not http://"],
    ],
    "TLS settings that a plain address would ignore": [
      { mqtt: { url: "mqtt://broker", caFile: "/ca.pem" } },
      ["mqtt.caFile: needs an address with TLS (mqtts:// or wss://)"],
    ],
    "alpn over a WebSocket": [
      { mqtt: { url: "wss://broker", alpn: ["mqtt"] } },
      ["mqtt.alpn: needs mqtts://; a WebSocket speaks http/1.1"],
    ],
    "half a client certificate": [
      { mqtt: { url: "mqtts://broker", certFile: "/c.pem" } },
      ["mqtt.keyFile: is needed beside mqtt.certFile"],
    ],
    "a topic root with a wildcard": [
      { mqtt: { url: "mqtt://broker", topicRoot: "agent/#" } },
      ['mqtt.topicRoot: must be one or two topic levels like agent/v1, not "agent/#"'],
    ],
    "a name server that is no address": [
      { clusterDNS: ["10.0.0.10", "dns.local"] },
      ['clusterDNS: "dns.local" must be an IP address'],
    ],
    "one name server that is no list": [
      { clusterDNS: "10.0.0.10" },
      ['clusterDNS: must be a list of IP addresses, not "10.0.0.10"'],
    ],
    "a domain that is none": [
      { clusterDomain: "Cluster_Local" },
      [
        "clusterDomain: \"Cluster_Local\" must be lower-case letters, digits, '-' or '.', with a letter or digit at both ends (RFC 1123 subdomain)",
      ],
    ],
    "a sysctl of the whole node": [
      { allowedUnsafeSysctls: ["vm.*"] },
      [
        'allowedUnsafeSysctls: "vm.*" is not known to be namespaced: it would change the whole node (net.*, kernel.shm*, kernel.msg*, kernel.sem and fs.mqueue.* are)',
      ],
    ],
    "every sysctl at once": [
      { allowedUnsafeSysctls: ["*"] },
      [
        'allowedUnsafeSysctls: "*" is not known to be namespaced: it would change the whole node (net.*, kernel.shm*, kernel.msg*, kernel.sem and fs.mqueue.* are)',
      ],
    ],
    "a star in the middle": [
      { allowedUnsafeSysctls: ["net.*.rmem"] },
      [
        'allowedUnsafeSysctls: "net.*.rmem" must be the name of a sysctl, or a prefix ending in * such as net.core.*',
      ],
    ],
    "a class of Kubernetes' own, and one without a whole number": [
      { priorityClasses: { "system-mine": 5, high: "5" } },
      [
        'priorityClasses.system-mine: must not begin with "system-": those names are taken',
        'priorityClasses.high: must be a whole number, not "5"',
      ],
    ],
    "a priority beyond Kubernetes' bounds": [
      { priorityClasses: { high: 1_000_000_001 } },
      ["priorityClasses.high: must be between -2147483648 and 1000000000, not 1000000001"],
    ],
    "a handler that is no name": [
      { runtimeClasses: { gvisor: "run sc", Kata: "kata" } },
      [
        "runtimeClasses.gvisor: \"run sc\" must be lower-case letters, digits or '-', with a letter or digit at both ends (RFC 1123 label)",
        "runtimeClasses.Kata: must be lower-case letters, digits, '-' or '.', with a letter or digit at both ends (RFC 1123 subdomain)",
      ],
    ],
    "a limit of no process at all": [
      { podPidsLimit: 0 },
      ["podPidsLimit: must be at least 1, or -1 for no limit"],
    ],
    "a switch that is a word": [
      { cpuCFSQuota: "no" },
      ['cpuCFSQuota: must be true or false, not "no"'],
    ],
    "reserves that are no amounts, or of what cannot be reserved": [
      { systemReserved: { cpu: "-1", memory: "lots" }, kubeReserved: { gpu: 1 } },
      [
        "systemReserved.cpu: must be greater than or equal to 0",
        'systemReserved.memory: must be a quantity like 500m or 64Mi, not "lots"',
        "kubeReserved.gpu: cannot be reserved; cpu, memory, ephemeral-storage can",
      ],
    ],
    "all errors at once": [
      { maxPods: -1, logLevel: "loud", stateDir: 5 },
      [
        "stateDir: must be an absolute path, not 5",
        "maxPods: must be between 1 and 2147483647, not -1",
        'logLevel: must be debug or info or warn or error, not "loud"',
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
