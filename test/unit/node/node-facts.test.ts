import { describe, expect, test } from "bun:test";
import {
  nodeIdentity,
  nodeInfo,
  nodeRoom,
  type NodeFactsOptions,
} from "../../../src/node/node-facts.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";
import type { AgentConfig } from "../../../src/config/config.ts";
import { admit } from "../../../src/source/admission/admit-pod.ts";
import { Room } from "../../../src/source/admission/room.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";

const config: AgentConfig = {
  ...CONFIG_DEFAULTS,
  resolvConf: "",
  imageServiceEndpoint: "",
  nodeLabels: { site: "berlin" },
  claimRoot: "",
  systemReserved: { cpu: "1" },
};
const edges = {
  machine: {
    hostname: "raspberrypi",
    machineId: "",
    systemUuid: "",
    serial: "",
    mac: "",
    cpus: 4,
    memoryBytes: 1024 ** 3,
    hugePages: {},
    storageBytes: 1024 ** 3,
    hasAppArmor: false,
    kernelVersion: "",
    osImage: "",
    architecture: "arm64" as const,
  },
};
const node = { edges, config, nodeName: "pi-1" };

/** The code of a refusal on the empty node. */
function refusal(nodeSelector: Readonly<Record<string, string>>, options: NodeFactsOptions = node) {
  return admit(aPod({ nodeSelector }), nodeInfo(options), new Room())?.code;
}

describe("admission", () => {
  test("counts what is reserved for the system", () => {
    const resources = { requests: { cpu: "3001m" }, limits: {} };
    const pod = aPod({ containers: [aContainer("a", { resources })] });
    expect(admit(pod, nodeInfo(node), new Room())).toMatchObject({
      code: "OutOfcpu",
      message: "Node didn't have enough resource: cpu, requested: 3001, used: 0, capacity: 3000",
    });
  });

  test("knows the node by its name and labels", () => {
    expect(refusal({ site: "berlin", "kubernetes.io/hostname": "pi-1" })).toBeUndefined();
    expect(refusal({ "kubernetes.io/hostname": "raspberrypi" })).toBe("NodeAffinity");
  });
});

describe("labels and groups of the node", () => {
  const labels = { site: "hamburg", floor: "2" };
  const groups = [
    { name: "kiosks", priority: 9 },
    { name: "berlin", priority: 0 },
  ];

  test("counts beside the configuration, which goes before", () => {
    const { labels: all, groups: names } = nodeIdentity({
      ...node,
      fleet: () => ({ labels, groups }),
    });
    expect(all).toMatchObject({ site: "berlin", floor: "2" });
    expect(names).toEqual(["kiosks", "berlin"]);
  });

  test("never replace what is the node's own, and are not seen by static pods", () => {
    const options = {
      ...node,
      fleet: () => ({
        labels: { ...labels, "kubernetes.io/hostname": "door", "kubernetes.io/x": "y" },
        groups,
      }),
    };
    const { labels: all, own } = nodeIdentity(options);
    expect(all).toMatchObject({ "kubernetes.io/hostname": "pi-1", floor: "2" });
    expect(all).not.toHaveProperty(["kubernetes.io/x"]);
    expect(own).toEqual({ labels: nodeIdentity(node).labels, groups: [] });
    expect(nodeInfo(options)).toMatchObject({ labels: all, ownLabels: own.labels });
  });

  test("admits a pod that was rejected before the label was published", () => {
    let said: Readonly<Record<string, string>> = {};
    const options = { ...node, fleet: () => ({ labels: said, groups: [] }) };
    expect(refusal({ floor: "2" }, options)).toBe("NodeAffinity");
    said = labels;
    expect(refusal({ floor: "2" }, options)).toBeUndefined();
  });
});

test("the node reports capacity and allocatable", () => {
  const { capacity, allocatable } = nodeRoom(node);
  expect(capacity).toEqual({
    cpu: "4",
    memory: "1048576Ki",
    "ephemeral-storage": "1048576Ki",
    pods: "110",
  });
  expect(allocatable).toEqual({ ...capacity, cpu: "3" });
});

test("pods read of their node what they may choose it by", () => {
  expect(nodeIdentity(node)).toMatchObject({
    name: "pi-1",
    arch: "arm64",
    labels: { site: "berlin", "kubernetes.io/arch": "arm64" },
  });
});
