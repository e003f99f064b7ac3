import { describe, expect, test } from "bun:test";

import {
  containerResource,
  podField,
  type DownwardFacts,
} from "../../../../src/api/pod/downward.ts";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import {
  splitSubscript,
  type ResourceFieldRef,
} from "../../../../src/api/v1/key-and-field-refs.ts";
import { UID, aContainer, aPod } from "../../../fakes/a-pod.ts";

const FACTS: DownwardFacts = {
  nodeName: "pi-1",
  podIPs: ["10.88.0.2", "fd00::2"],
  hostIPs: ["192.168.1.5", "fd01::5"],
};

const POD = aPod(
  {},
  {
    labels: { b: "2", a: "1" },
    annotations: { note: 'say "hi"\n\ttwice \\ \u0007\u0000\u200b☃', "x.y/Z": "é" },
  },
);

describe("a field of the pod", () => {
  const cases: Readonly<Record<string, string>> = {
    "metadata.name": "web",
    "metadata.namespace": "default",
    "metadata.uid": UID,
    "metadata.labels['a']": "1",
    "metadata.labels['none']": "",
    "metadata.labels['constructor']": "",
    "metadata.annotations['x.y/Z']": "é",
    "metadata.labels": 'a="1"\nb="2"',
    "metadata.annotations": 'note="say \\"hi\\"\\n\\ttwice \\\\ \\a\\x00\\u200b☃"\nx.y/Z="é"',
    "spec.nodeName": "pi-1",
    "spec.serviceAccountName": "default",
    "status.hostIP": "192.168.1.5",
    "status.hostIPs": "192.168.1.5,fd01::5",
    "status.podIP": "10.88.0.2",
    "status.podIPs": "10.88.0.2,fd00::2",
  };
  test.each(Object.entries(cases))("%s is %j", (path, value) => {
    expect(podField(POD, path, FACTS)).toBe(value);
  });

  test.each(["status.phase", "metadata.name['a']", "spec", "", "toString"])(
    "%j is no field",
    (path) => {
      expect(podField(POD, path, FACTS)).toBeUndefined();
    },
  );

  test("no labels are no text", () => {
    expect(podField(aPod(), "metadata.labels", FACTS)).toBe("");
  });

  test("characters beyond the first plane stay, or are named by eight digits", () => {
    const pod = aPod({}, { labels: { a: "😀\u{e0001}" } });
    expect(podField(pod, "metadata.labels", FACTS)).toBe('a="😀\\U000e0001"');
  });

  test("an address that is not there yet is empty", () => {
    const facts = { ...FACTS, podIPs: [] };
    expect(podField(POD, "status.podIP", facts)).toBe("");
    expect(podField(POD, "status.podIPs", facts)).toBe("");
  });
});

test.each([
  ["metadata.labels['a']", { path: "metadata.labels", key: "a" }],
  ["metadata.labels['it's']", { path: "metadata.labels", key: "it's" }],
  ["metadata.labels", undefined],
  ["['a']", undefined],
  ["metadata.labels[a]", undefined],
])("%s has its key apart", (path, parts) => {
  expect(splitSubscript(path)).toEqual(parts as never);
});

describe("a resource of a container", () => {
  const SPEC: Partial<PodSpec> = {
    initContainers: [aContainer("i", { resources: { limits: { memory: "1Gi" }, requests: {} } })],
    containers: [
      aContainer("a", {
        resources: {
          limits: { cpu: "1500m", memory: "100M", "hugepages-2Mi": "4Mi" },
          requests: { cpu: "250m", memory: "64Mi", "ephemeral-storage": "1Gi" },
        },
      }),
      aContainer("b"),
    ],
  };
  const NODE = { cpuMillis: 3800, memoryBytes: 2_000_000_001, ephemeralStorageBytes: 10_000 };

  const cases: Readonly<
    Record<string, { readonly ref: ResourceFieldRef; readonly value: string | undefined }>
  > = {
    "is whole cores, rounded up": { ref: { resource: "limits.cpu" }, value: "2" },
    "is thousandths of a core": { ref: { resource: "limits.cpu", divisor: "1m" }, value: "1500" },
    "is what is asked for": { ref: { resource: "requests.cpu", divisor: "1m" }, value: "250" },
    "is bytes": { ref: { resource: "requests.memory" }, value: "67108864" },
    "is Mi, rounded up": { ref: { resource: "limits.memory", divisor: "1Mi" }, value: "96" },
    "is M": { ref: { resource: "limits.memory", divisor: "1M" }, value: "100" },
    "is huge pages": { ref: { resource: "limits.hugepages-2Mi", divisor: "1Mi" }, value: "4" },
    "is storage": {
      ref: { resource: "requests.ephemeral-storage", divisor: "1Ki" },
      value: "1048576",
    },
    "is the node's storage without a limit": {
      ref: { resource: "limits.ephemeral-storage", divisor: "1k" },
      value: "10",
    },
    "is the node's cores without a limit": {
      ref: { containerName: "b", resource: "limits.cpu" },
      value: "4",
    },
    "is the node's memory without a limit": {
      ref: { containerName: "b", resource: "limits.memory" },
      value: "2000000001",
    },
    "is nothing without a request": {
      ref: { containerName: "b", resource: "requests.memory" },
      value: "0",
    },
    "is nothing for huge pages without a limit": {
      ref: { containerName: "b", resource: "limits.hugepages-1Gi" },
      value: "0",
    },
    "may be of an init container": {
      ref: { containerName: "i", resource: "limits.memory", divisor: "1Gi" },
      value: "1",
    },
    "is unknown of a container that is not there": {
      ref: { containerName: "z", resource: "limits.cpu" },
      value: undefined,
    },
    "is unknown of something that is no resource": {
      ref: { resource: "status.cpu" },
      value: undefined,
    },
  };
  test.each(Object.entries(cases))("%s", (_sentence, { ref, value }) => {
    expect(containerResource(aPod(SPEC), ref, { container: "a", node: NODE })).toBe(
      value as string,
    );
  });

  test("is the whole pod's limit before the node's", () => {
    const resources = { limits: { cpu: "500m", memory: "1Gi" }, requests: {} };
    const pod = aPod({ ...SPEC, resources });
    const of = (resource: string, divisor: string) =>
      containerResource(pod, { resource, divisor }, { container: "b", node: NODE });
    expect([of("limits.cpu", "1m"), of("limits.memory", "1Mi")]).toEqual(["500", "1024"]);
  });
});
