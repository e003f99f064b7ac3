import { describe, expect, test } from "bun:test";
import { admissionTo, nodeIdentity, nodeRoom } from "../../../src/node/node-facts.ts";
import { CONFIG_DEFAULTS } from "../../fakes/config-defaults.ts";
import type { AgentConfig } from "../../../src/config/config.ts";
import type { DesiredPod } from "../../../src/api/pod/desired-pod.ts";
import { aContainer, aDesiredPod, aPod } from "../../fakes/a-pod.ts";

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

function pod(name: string, cpu: string): DesiredPod {
  const resources = { requests: { cpu }, limits: {} };
  return aDesiredPod(aPod({ containers: [aContainer("a", { resources })] }, { name, uid: name }));
}

describe("admissionTo", () => {
  test("counts those that are in, but not those that have come to their end", () => {
    const empty = admissionTo(node, (uid) => uid === "done");
    const open = [pod("done", "3"), pod("running", "2")].reduce((all, one) => all.with(one), empty);
    expect(open.refusal(pod("new", "1"))).toBeUndefined();
    expect(open.refusal(pod("new", "1001m"))).toMatchObject({
      code: "OutOfcpu",
      message: "Node didn't have enough resource: cpu, requested: 1001, used: 2000, capacity: 3000",
    });
  });

  test("letting a pod in changes nothing for whoever asked before", () => {
    const empty = admissionTo(node, () => false);
    empty.with(pod("running", "3"));
    expect(empty.refusal(pod("new", "3"))).toBeUndefined();
  });

  test("knows the node by its name and labels", () => {
    const wants = (nodeSelector: Readonly<Record<string, string>>) =>
      admissionTo(node, () => false).refusal(aDesiredPod(aPod({ nodeSelector })))?.code;
    expect(wants({ site: "berlin", "kubernetes.io/hostname": "pi-1" })).toBeUndefined();
    expect(wants({ "kubernetes.io/hostname": "raspberrypi" })).toBe("NodeAffinity");
  });
});

describe("what the fleet says of the node", () => {
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

  test("lets in a pod that was refused before it was said", () => {
    let said: Readonly<Record<string, string>> = {};
    const admission = admissionTo(
      { ...node, fleet: () => ({ labels: said, groups: [] }) },
      () => false,
    );
    const refusal = (): string | undefined =>
      admission.refusal(aDesiredPod(aPod({ nodeSelector: { floor: "2" } })))?.code;
    expect(refusal()).toBe("NodeAffinity");
    said = labels;
    expect(refusal()).toBeUndefined();
  });
});

test("the node tells what it has and what pods may have", () => {
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
