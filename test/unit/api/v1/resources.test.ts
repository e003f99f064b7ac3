import { describe, expect, test } from "bun:test";

import { qosClass } from "../../../../src/api/resource/qos.ts";
import { containerOf, refusals, specOf, warnings, withInit, writtenPod } from "../written-pod.ts";

const NO_PLUGINS =
  "there are no device plugins on this node; ask for the device with the annotation agent/devices, podman.io/device=/dev/x or a CDI name such as vendor.com/class=name";
const QUANTITY_RULE = 'must be a quantity such as "500m", "1.5" or "64Mi"';
const RANGE_RULE = "must be no more than 9223372036854775807";
const DEVICE_RULE =
  'must be a device such as "/dev/ttyUSB0", "/dev/i2c-1:/dev/i2c-0" or "/dev/x:/dev/y:rw"';

describe("what is written is kept in canonical text", () => {
  test("every resource that a container can have", () => {
    const limits = {
      cpu: 0.5,
      memory: " 0.5Gi ",
      "ephemeral-storage": "1000M",
      "hugepages-2Mi": "4Mi",
      "podman.io/device=/dev/ttyUSB0": 1,
      "podman.io/device=/dev/i2c-1:/dev/i2c-0:rw": "1",
      "vendor.com/class=name": "1",
    };
    const requests = { cpu: "100m", memory: "1e6" };
    expect(containerOf({ resources: { limits, requests } })?.resources).toEqual({
      limits: {
        cpu: "500m",
        memory: "512Mi",
        "ephemeral-storage": "1G",
        "hugepages-2Mi": "4Mi",
        "podman.io/device=/dev/ttyUSB0": "1",
        "podman.io/device=/dev/i2c-1:/dev/i2c-0:rw": "1",
        "vendor.com/class=name": "1",
      },
      requests: {
        cpu: "100m",
        memory: "1e6",
        "ephemeral-storage": "1G",
        "hugepages-2Mi": "4Mi",
        "podman.io/device=/dev/ttyUSB0": "1",
        "podman.io/device=/dev/i2c-1:/dev/i2c-0:rw": "1",
        "vendor.com/class=name": "1",
      },
    });
  });

  test("what is less than a thousandth is rounded up", () => {
    const resources = { requests: { cpu: 1.0004, memory: "1.5Ki" }, limits: { cpu: 1.0001 } };
    expect(containerOf({ resources })?.resources).toEqual({
      limits: { cpu: "1001m" },
      requests: { cpu: "1001m", memory: "1536" },
    });
    expect(containerOf({ resources: { limits: { cpu: "0.0001" } } })?.resources.limits).toEqual({
      cpu: "1m",
    });
  });

  test("nothing of what this node does not have is nothing", () => {
    const resources = { limits: { "nvidia.com/gpu": 0, cpu: null } };
    expect(containerOf({ resources })?.resources).toEqual({ limits: {}, requests: {} });
  });
});

describe("fractions of a byte", () => {
  test("are rounded up, with a warning", () => {
    const resources = { limits: { memory: "512m", "ephemeral-storage": "0.5" } };
    expect(warnings(writtenPod({}, { resources }))).toEqual([
      'spec.containers[0].resources.limits[memory]: fractional byte value "512m" is rounded up to whole bytes; 512Mi may be meant',
      'spec.containers[0].resources.limits[ephemeral-storage]: fractional byte value "500m" is rounded up to whole bytes',
    ]);
  });
  test("of a core are what they are", () => {
    expect(warnings(writtenPod({}, { resources: { limits: { cpu: "512u" } } }))).toEqual([]);
  });
});

const cases: Readonly<Record<string, readonly [resources: object, ...errors: string[]]>> = {
  "amounts that are none": [
    { limits: { cpu: "one", memory: "1GB", "ephemeral-storage": true } },
    `limits[cpu]: Invalid value: "one": ${QUANTITY_RULE}`,
    `limits[memory]: Invalid value: "1GB": ${QUANTITY_RULE}`,
    `limits[ephemeral-storage]: Invalid value: true: ${QUANTITY_RULE}`,
  ],
  "less than nothing": [
    { requests: { cpu: "-1m" } },
    'requests[cpu]: Invalid value: "-1m": must be greater than or equal to 0',
  ],
  "more than can be counted": [
    { limits: { memory: "8Ei", cpu: 1e99 } },
    `limits[memory]: Invalid value: "8Ei": ${RANGE_RULE}`,
    `limits[cpu]: Invalid value: 1e+99: ${RANGE_RULE}`,
  ],
  "more asked for than allowed": [
    { limits: { cpu: 1, memory: "1G" }, requests: { cpu: "1001m", memory: "1Gi" } },
    'requests[cpu]: Invalid value: "1001m": must be less than or equal to cpu limit of 1',
    'requests[memory]: Invalid value: "1Gi": must be less than or equal to memory limit of 1G',
  ],
  "a little more asked for than allowed": [
    { limits: { cpu: "1m" }, requests: { cpu: 1.0001e-3 } },
    'requests[cpu]: Invalid value: "2m": must be less than or equal to cpu limit of 1m',
  ],
  "names that Kubernetes does not have": [
    { limits: { mem: "1Gi", memmory: "1Gi", "requests.cpu": 1 } },
    'limits[mem]: Invalid value: "mem": must be a standard resource for containers',
    'limits[memmory]: Invalid value: "memmory": must be a standard resource for containers (did you mean memory?)',
    'limits[requests.cpu]: Invalid value: "requests.cpu": must be a standard resource for containers',
  ],
  "names that cannot be": [
    { limits: { "a b": 1, "x/y/z": 1 } },
    "limits[a b]: Invalid value: \"a b\": its name must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends",
    "limits[x/y/z]: Invalid value: \"x/y/z\": must have at most one '/'",
  ],
  "what needs a device plugin": [
    { limits: { "nvidia.com/gpu": 1 } },
    `limits[nvidia.com/gpu]: ${NO_PLUGINS}`,
  ],
  "huge pages alone": [
    { limits: { "hugepages-2Mi": "2Mi" } },
    ": Forbidden: HugePages require cpu or memory",
  ],
  "huge pages that are not whole": [
    { limits: { cpu: 1, "hugepages-2Mi": "3Mi" } },
    'limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
  ],
  "huge pages of no size": [
    { limits: { cpu: 1, "hugepages-": "2Mi", "hugepages-0": "2Mi", "hugepages-2m": "2Mi" } },
    'limits[hugepages-]: Invalid value: "2Mi": 2Mi is not positive integer multiple of hugepages-',
    'limits[hugepages-0]: Invalid value: "2Mi": 2Mi is not positive integer multiple of hugepages-0',
    'limits[hugepages-2m]: Invalid value: "2Mi": 2Mi is not positive integer multiple of hugepages-2m',
  ],
  "huge pages that are only asked for": [
    { requests: { cpu: 1, "hugepages-2Mi": "2Mi" } },
    "limits: Required value: Limit must be set for non overcommitable resources",
  ],
  "fewer huge pages asked for than allowed": [
    { limits: { cpu: 1, "hugepages-2Mi": "4Mi" }, requests: { "hugepages-2Mi": "2Mi" } },
    'requests[hugepages-2Mi]: Invalid value: "2Mi": must be equal to hugepages-2Mi limit of 4Mi',
  ],
  "a device twice over": [
    { limits: { "podman.io/device=/dev/x": 2, "vendor.com/class=name": "0.5" } },
    'limits[vendor.com/class=name]: Invalid value: "0.5": must be 1',
  ],
  "a device that is only asked for": [
    { requests: { "podman.io/device=/dev/x": 1, "vendor.com/class=name": 1 } },
    "limits: Required value: Limit must be set for non overcommitable resources",
  ],
  "a device that is none": [
    { limits: { "podman.io/device=ttyUSB0": 1, "podman.io/device=/dev/x:rwx": 1 } },
    `limits[podman.io/device=ttyUSB0]: Invalid value: "podman.io/device=ttyUSB0": ${DEVICE_RULE}`,
    `limits[podman.io/device=/dev/x:rwx]: Invalid value: "podman.io/device=/dev/x:rwx": ${DEVICE_RULE}`,
  ],
  "a CDI name that is none": [
    { limits: { "vendor/class=": 1 } },
    'limits[vendor/class=]: Invalid value: "vendor/class=": must be a CDI device such as vendor.com/class=name',
  ],
  "claims of a cluster's driver": [
    { claims: [{ name: "gpu" }] },
    "claims: needs a Kubernetes API server and scheduler; leave it out",
  ],
  "lists where amounts belong": [
    { limits: ["cpu"] },
    'limits: Invalid value: ["cpu"]: must be an object',
  ],
};

test.each(Object.entries(cases))("refused: %s", (_, [resources, ...errors]) => {
  const expected = errors.map(
    (error) => `spec.containers[0].resources${error.startsWith(":") ? "" : "."}${error}`,
  );
  expect(refusals(writtenPod({}, { resources }))).toEqual(expected);
});

describe("the pod as a whole", () => {
  const asking = (requests: object): object => ({ resources: { requests } });

  test("what it does not ask for is what its containers ask for, else its limit", () => {
    const spec = {
      ...withInit(asking({ cpu: "800m" }), {
        ...asking({ cpu: "100m", memory: "32Mi" }),
        restartPolicy: "Always",
      }),
      resources: { limits: { cpu: 2, memory: "1Gi", "hugepages-2Mi": "2Mi" } },
    };
    expect(specOf(writtenPod(spec, asking({ cpu: "300m", memory: "96Mi" }))).resources).toEqual({
      limits: { cpu: "2", memory: "1Gi", "hugepages-2Mi": "2Mi" },
      requests: { cpu: "800m", memory: "128Mi", "hugepages-2Mi": "2Mi" },
    });
  });

  test("a sidecar counts beside what starts after it", () => {
    const spec = {
      ...withInit({ ...asking({ cpu: "500m" }), restartPolicy: "Always" }, asking({ cpu: "800m" })),
      resources: { limits: { cpu: 2 } },
    };
    expect(specOf(writtenPod(spec, asking({ cpu: "200m" }))).resources.requests).toEqual({
      cpu: "1300m",
    });
  });

  test("what it asks for itself stands", () => {
    const resources = { limits: { memory: "1Gi" }, requests: { memory: "512Mi" } };
    const spec = specOf(writtenPod({ resources }, asking({ memory: "64Mi" })));
    expect(spec.resources.requests).toEqual({ memory: "512Mi" });
  });

  test("its class of service is its own, not that of its containers", () => {
    const resources = { limits: { cpu: 1, memory: "1Gi" } };
    expect(qosClass(specOf(writtenPod({ resources })))).toBe("Guaranteed");
    expect(qosClass(specOf(writtenPod({ resources }, asking({ cpu: "100m" }))))).toBe("Burstable");
  });

  test("its limit of huge pages is that of its containers", () => {
    const limits = { memory: "1Gi", "hugepages-2Mi": "4Mi" };
    const containers = ["a", "b"].map((name) => ({ name, image: "x:1", resources: { limits } }));
    const written = (resources: object): unknown =>
      specOf(writtenPod({ containers, resources })).resources;
    expect(written({ limits: { memory: "2Gi" } })).toEqual({
      limits: { memory: "2Gi", "hugepages-2Mi": "8Mi" },
      requests: { memory: "2Gi", "hugepages-2Mi": "8Mi" },
    });
    expect(written({ requests: { memory: "2Gi" } })).toEqual({
      limits: { "hugepages-2Mi": "8Mi" },
      requests: { memory: "2Gi", "hugepages-2Mi": "8Mi" },
    });
    expect(written({})).toEqual({ limits: {}, requests: {} });
  });

  const refused: Readonly<Record<string, readonly [pod: object, ...errors: string[]]>> = {
    "containers that together ask for more than its limit": [
      writtenPod({
        containers: ["a", "b"].map((name) => ({
          name,
          image: "x:1",
          ...asking({ memory: "60Mi" }),
        })),
        resources: { limits: { memory: "100Mi" } },
      }),
      'spec.resources.requests[memory]: Invalid value: "120Mi": must be less than or equal to memory limit of 100Mi',
    ],
    "an init container that asks for more than its limit": [
      writtenPod({
        ...withInit({ resources: { limits: { memory: "2Gi" } } }),
        resources: { limits: { memory: "1Gi" } },
      }),
      'spec.resources.requests[memory]: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi',
    ],
    "what only containers can have": [
      writtenPod({ resources: { limits: { "ephemeral-storage": "1Gi", "vendor.com/a=b": 1 } } }),
      'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
      'spec.resources.limits[vendor.com/a=b]: Unsupported value: "vendor.com/a=b": supported values: "cpu", "hugepages-", "memory"',
    ],
    "less than its containers ask for": [
      writtenPod({
        containers: [
          { name: "a", image: "x:1", ...asking({ cpu: 1, memory: "96Mi" }) },
          { name: "b", image: "x:1", ...asking({ cpu: "500m", memory: "32Mi" }) },
        ],
        resources: { requests: { cpu: 1, memory: "127Mi" } },
      }),
      'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 1500m',
      'spec.resources.requests[memory]: Invalid value: "127Mi": must be greater than or equal to aggregate container requests of 128Mi',
    ],
    "nothing where its containers ask for something": [
      writtenPod({ resources: { requests: { cpu: 1 } } }, asking({ memory: "96Mi" })),
      'spec.resources.requests[memory]: Invalid value: "0": must be greater than or equal to aggregate container requests of 96Mi',
    ],
    "a container that may use more": [
      writtenPod(
        { resources: { limits: { memory: "64Mi" } } },
        { resources: { limits: { memory: "65Mi" }, requests: { memory: "1Mi" } } },
      ),
      'spec.containers[0].resources.limits[memory]: Invalid value: "65Mi": must be less than or equal to pod limits of 64Mi',
    ],
    "more asked for than allowed": [
      writtenPod({ resources: { limits: { cpu: 1 }, requests: { cpu: 2 } } }),
      'spec.resources.requests[cpu]: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ],
    "huge pages alone": [
      writtenPod({ resources: { limits: { "hugepages-2Mi": "2Mi" } } }),
      "spec.resources: Forbidden: HugePages require cpu or memory",
    ],
  };
  test.each(Object.entries(refused))("refused: %s", (_, [pod, ...errors]) => {
    expect(refusals(pod)).toEqual(errors);
  });
});
