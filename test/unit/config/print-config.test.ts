import { expect, test } from "bun:test";
import { AGENT_CONFIGURATION, decodeConfig, readConfigFields } from "../../../src/config/config.ts";
import { configInForce } from "../../../src/config/print-config.ts";

function printed(document: object): Readonly<Record<string, unknown>> {
  const [fields, config] = [readConfigFields(document), decodeConfig(document)];
  if (!fields.ok || !config.ok) throw new Error("refused");
  return { ...configInForce(fields.value, config.value) };
}

/** Defaults that the machine gives, or that are the absence of a thing. */
const WITHOUT_DEFAULT = new Set(["nodeName", "resolvConf", "mqtt"]);

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
  });
  expect(Object.keys(all).filter((key) => WITHOUT_DEFAULT.has(key))).toEqual([]);
});

test.each([
  [{}],
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

test("fields stand in the order of their declaration", () => {
  const keys = Object.keys(printed({ mqtt: { url: "mqtt://broker" } }));
  const declared = Object.keys(AGENT_CONFIGURATION.level);
  expect(keys).toEqual(declared.filter((key) => keys.includes(key)));
});
