import { expect, test } from "bun:test";
import { AGENT_CONFIGURATION, decodeConfig, readConfigFields } from "../../../src/config/config.ts";
import { configInForce } from "../../../src/config/print-config.ts";

function printed(document: object): Readonly<Record<string, unknown>> {
  const [fields, config] = [readConfigFields(document), decodeConfig(document)];
  if (!fields.ok || !config.ok) throw new Error("refused");
  return { ...configInForce(fields.value, config.value) };
}

/** Defaults that the machine gives, or that are the absence of a thing, in the order of declaration. */
const WITHOUT_DEFAULT = [
  "provisioningPath",
  "nodeName",
  "resolvConf",
  "socketGroup",
  "listen",
  "tlsCertFile",
  "tlsPrivateKeyFile",
  "staticPodURL",
  "staticPodURLCAFile",
  "staticPodURLCertFile",
  "staticPodURLKeyFile",
  "podCIDR",
  "imageCredentialProviderConfigFile",
  "imageCredentialProviderBinDir",
  "systemReservedCgroup",
  "kubeReservedCgroup",
  "podLogsMaxSize",
  "mqtt",
];

test("an empty file is printed with every default", () => {
  const all = printed({});
  expect(all).toMatchObject({
    apiVersion: "agent/v1",
    kind: "AgentConfiguration",
    setClock: false,
    nodeLabels: {},
    clusterDNS: [],
    nodeStatusReportFrequency: "15m",
    crashLoopBackOff: { maxContainerRestartPeriod: "5m" },
    imageServiceEndpoint: "unix:///run/containerd/containerd.sock",
    claimRoot: "/var/lib/agent/claims",
    enforceNodeAllocatable: ["pods"],
    containerGC: { minAge: "0s", maxPerPodContainer: 1, maxContainers: -1 },
    serializeImagePulls: true,
    maxParallelImagePulls: 1,
  });
  const missing = Object.keys(AGENT_CONFIGURATION.level).filter((key) => !(key in all));
  expect(missing).toEqual(WITHOUT_DEFAULT);
});

test("defaults that depend on other fields are printed as they are in force", () => {
  expect(printed({ maxParallelImagePulls: 3 })).toMatchObject({
    serializeImagePulls: false,
    maxParallelImagePulls: 3,
  });
  const unlimited = printed({ serializeImagePulls: false });
  expect(unlimited["serializeImagePulls"]).toBe(false);
  expect(unlimited).not.toContainKey("maxParallelImagePulls");
  expect(printed({ mqtt: { url: "mqtt://broker", profile: "metered" } })).toMatchObject({
    nodeStatusReportFrequency: "24h",
    mqtt: { keepAliveSeconds: 1140, podStatus: "off" },
  });
  expect(printed({ mqtt: { url: "mqtt://broker" } })).toMatchObject({
    nodeStatusReportFrequency: "15m",
    mqtt: { keepAliveSeconds: 60, podStatus: "retained" },
  });
});

test.each([
  [{}],
  [{ serializeImagePulls: false, containerGC: { minAge: "5m", maxContainers: 0 } }],
  [{ maxParallelImagePulls: 3 }],
  [{ mqtt: { username: "without a URL" } }],
  [{ cgroupsPerQOS: false, enforceNodeAllocatable: [], systemReserved: { memory: "1Gi" } }],
  [
    {
      nodeName: "kiosk-${serial}",
      crashLoopBackOff: { maxContainerRestartPeriod: "90s" },
      mqtt: {
        url: "mqtts://broker",
        passwordFile: "/p",
        groups: [{ name: "berlin", priority: 10 }],
        profile: "metered",
        podPolicy: { profile: "privileged" },
      },
    },
  ],
])("%j is the same when what is printed is read", (document) => {
  const again = printed(document);
  expect(decodeConfig(again)).toEqual(decodeConfig(document));
  expect(printed(again)).toEqual(again);
});

test("what proves the node to a server is not printed", () => {
  const document = { staticPodURLHeader: { Authorization: ["Bearer s3cret", "other"], "X-A": [] } };
  expect(printed(document)["staticPodURLHeader"]).toEqual({
    Authorization: ["<hidden>", "<hidden>"],
    "X-A": [],
  });
});

test("fields stand in the order of their declaration", () => {
  const keys = Object.keys(printed({ mqtt: { url: "mqtt://broker" } }));
  const declared = Object.keys(AGENT_CONFIGURATION.level);
  expect(keys).toEqual(declared.filter((key) => keys.includes(key)));
});
