import { describe, expect, test } from "bun:test";
import { qosClass, type QosClass } from "../../../../src/api/resource/qos.ts";
import { aContainer } from "../../../fakes/a-pod.ts";
import type { ResourceRequirements } from "../../../../src/api/v1/resources.ts";

interface Case {
  /** Of the pod as a whole. */
  readonly pod?: ResourceRequirements;
  readonly init?: readonly ResourceRequirements[];
  readonly resources: readonly ResourceRequirements[];
  readonly expected: QosClass;
}

const none: ResourceRequirements = { limits: {}, requests: {} };
const full: ResourceRequirements = {
  limits: { cpu: "1", memory: "64Mi" },
  requests: { cpu: "1", memory: "64Mi" },
};

const cases: Record<string, Case> = {
  "nothing asked for and nothing limited is BestEffort": {
    resources: [none, none],
    expected: "BestEffort",
  },
  "amounts of zero count as not written": {
    resources: [{ limits: { cpu: "0", memory: "0" }, requests: { cpu: "0m" } }],
    expected: "BestEffort",
  },
  "requests equal to limits of both resources in every container are Guaranteed": {
    resources: [full, full],
    expected: "Guaranteed",
  },
  "the same amount in other words is Guaranteed": {
    resources: [
      { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1000m", memory: "1024Mi" } },
    ],
    expected: "Guaranteed",
  },
  "one container without limits spoils Guaranteed": {
    resources: [full, none],
    expected: "Burstable",
  },
  "a request below its limit is Burstable": {
    resources: [{ ...full, requests: { cpu: "500m", memory: "64Mi" } }],
    expected: "Burstable",
  },
  "only one resource limited is Burstable": {
    resources: [{ limits: { memory: "64Mi" }, requests: { memory: "64Mi" } }],
    expected: "Burstable",
  },
  "an init container without limits spoils Guaranteed": {
    init: [none],
    resources: [full],
    expected: "Burstable",
  },
  "an init container that limits everything leaves it Guaranteed": {
    init: [full],
    resources: [full],
    expected: "Guaranteed",
  },
  "an init container alone that asks for something is Burstable": {
    init: [full],
    resources: [none],
    expected: "Burstable",
  },
  "only a request is Burstable": {
    resources: [{ limits: {}, requests: { cpu: "1m" } }],
    expected: "Burstable",
  },
  "less than a thousandth is still asked for": {
    resources: [{ limits: {}, requests: { cpu: "1n" } }],
    expected: "Burstable",
  },
  "other resources do not count": {
    resources: [
      {
        limits: { "ephemeral-storage": "1Gi", "podman.io/device=/dev/x": "1" },
        requests: { "ephemeral-storage": "1Gi", "podman.io/device=/dev/x": "1" },
      },
    ],
    expected: "BestEffort",
  },
  "resources of the pod have precedence over those of its containers: Guaranteed": {
    pod: full,
    resources: [none, { limits: {}, requests: { cpu: "1m" } }],
    expected: "Guaranteed",
  },
  "resources of the pod have precedence over those of its containers: Burstable": {
    pod: { limits: { cpu: "2", memory: "64Mi" }, requests: { cpu: "1", memory: "64Mi" } },
    resources: [full],
    expected: "Burstable",
  },
  "a pod that limits one resource as a whole is Burstable": {
    pod: { limits: { memory: "64Mi" }, requests: { memory: "64Mi" } },
    resources: [full],
    expected: "Burstable",
  },
  "a pod that has huge pages only as a whole is BestEffort": {
    pod: { limits: { "hugepages-2Mi": "4Mi" }, requests: { "hugepages-2Mi": "4Mi" } },
    resources: [full],
    expected: "BestEffort",
  },
};

describe("qosClass", () => {
  test.each(Object.entries(cases))("%s", (_, { pod = none, init = [], resources, expected }) => {
    const initContainers = init.map((amounts, at) => aContainer(`i${at}`, { resources: amounts }));
    const containers = resources.map((amounts, at) => aContainer(`c${at}`, { resources: amounts }));
    expect(qosClass({ initContainers, containers, resources: pod })).toBe(expected);
  });
});
