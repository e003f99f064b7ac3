import { describe, expect, test } from "bun:test";

import { hostPortClaims } from "../../../src/api/validation/host-ports.ts";
import { aContainer, aPod } from "../../fakes/a-pod.ts";
import { decode, refusals, specOf, withInit, writtenPod } from "./written-pod.ts";

const EXEC = { exec: { command: ["true"] } };
const NOT_FOR_PLAIN = "Forbidden: may not be set for init containers without restartPolicy=Always";

describe("init containers", () => {
  test("mean the same as other containers by what they leave out", () => {
    const spec = specOf(writtenPod(withInit({})));
    expect(spec.initContainers).toEqual([aContainer("i", { image: "x:1" })]);
  });

  test("have their requests from their limits, and host ports on the host's network", () => {
    const resources = { limits: { cpu: "1" } };
    const ports = [{ containerPort: 80 }];
    const spec = specOf(writtenPod({ hostNetwork: true, ...withInit({ resources, ports }) }));
    expect(spec.initContainers[0]).toMatchObject({
      resources: { limits: { cpu: "1" }, requests: { cpu: "1" } },
      ports: [{ containerPort: 80, hostPort: 80 }],
    });
  });

  test("keep the order in which they run", () => {
    const spec = specOf(writtenPod(withInit({ name: "z" }, { name: "b" }, { name: "m" })));
    expect(spec.initContainers.map(({ name }) => name)).toEqual(["z", "b", "m"]);
  });

  test("that are sidecars may have hooks and probes", () => {
    const sidecar = {
      restartPolicy: "Always",
      lifecycle: { preStop: EXEC },
      livenessProbe: EXEC,
      readinessProbe: EXEC,
      startupProbe: EXEC,
    };
    const handler = { type: "exec" as const, command: ["true"] };
    expect(specOf(writtenPod(withInit(sidecar))).initContainers[0]).toMatchObject({
      lifecycle: { preStop: handler },
      livenessProbe: { handler },
      readinessProbe: { handler },
      startupProbe: { handler },
    });
  });

  test("have a hash of their own", () => {
    const hashes = (init: object): Readonly<Record<string, string>> =>
      decode(writtenPod(withInit(init))).pods[0]?.desired.containerHashes ?? {};
    expect(Object.keys(hashes({}))).toEqual(["i", "a"]);
    expect(hashes({ args: ["1"] })["i"]).not.toBe(hashes({})["i"]);
    expect(hashes({ args: ["1"] })["a"]).toBe(hashes({})["a"]);
  });

  test("may follow each other on one host port", () => {
    const ports = [{ containerPort: 1, hostPort: 80 }];
    expect(refusals(writtenPod(withInit({ ports }, { ports }), { ports }))).toEqual([]);
  });
});

describe("a pod is refused if", () => {
  const cases: Readonly<Record<string, readonly [object, readonly string[]]>> = {
    "a plain init container has hooks or probes, however bad": [
      withInit({ lifecycle: {}, livenessProbe: {}, readinessProbe: EXEC, startupProbe: EXEC }),
      [
        `spec.initContainers[0].lifecycle: ${NOT_FOR_PLAIN}`,
        `spec.initContainers[0].livenessProbe: ${NOT_FOR_PLAIN}`,
        `spec.initContainers[0].readinessProbe: ${NOT_FOR_PLAIN}`,
        `spec.initContainers[0].startupProbe: ${NOT_FOR_PLAIN}`,
      ],
    ],
    "an init container that may be restarted, but is no sidecar, has a probe": [
      withInit({ restartPolicy: "OnFailure", livenessProbe: EXEC }),
      [`spec.initContainers[0].livenessProbe: ${NOT_FOR_PLAIN}`],
    ],
    "an init container has the name of an app container": [
      withInit({ name: "a" }),
      ['spec.initContainers[0].name: Duplicate value: "a"'],
    ],
    "two init containers have one name": [
      withInit({ name: "x" }, { name: "x" }),
      ['spec.initContainers[1].name: Duplicate value: "x"'],
    ],
    "an init container wants one host port twice": [
      withInit({
        ports: [
          { containerPort: 1, hostPort: 80 },
          { containerPort: 2, hostPort: 80 },
        ],
      }),
      ['spec.initContainers[0].ports[1].hostPort: Duplicate value: "80/TCP"'],
    ],
    "an init container mounts a volume that is not there": [
      withInit({ volumeMounts: [{ name: "v", mountPath: "/v" }] }),
      [
        'spec.initContainers[0].volumeMounts[0].name: Not found: "v": spec.volumes has no volume of this name',
      ],
    ],
    "an init container has no image": [
      withInit({ image: "" }),
      ["spec.initContainers[0].image: Required value"],
    ],
    "its deadline is 0": [
      { activeDeadlineSeconds: 0 },
      ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    ],
    "its deadline exceeds Kubernetes' maximum": [
      { activeDeadlineSeconds: 2 ** 31 },
      [
        "spec.activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and 2147483647, inclusive",
      ],
    ],
  };
  test.each(Object.entries(cases))("%s", (_sentence, [spec, errors]) => {
    expect(refusals(writtenPod(spec))).toEqual([...errors]);
  });

  test.each([1, 2 ** 31 - 1])("but not for a deadline of %d s", (activeDeadlineSeconds) => {
    expect(specOf(writtenPod({ activeDeadlineSeconds })).activeDeadlineSeconds).toBe(
      activeDeadlineSeconds,
    );
  });
});

describe("a checkpoint is read leniently:", () => {
  const lenient = { lenient: true };

  test("what this agent would refuse of hooks, probes and rules is left out, the pod runs", () => {
    const init = withInit({
      livenessProbe: EXEC,
      restartPolicy: "Never",
      restartPolicyRules: [{ action: "RestartAllContainers" }],
    });
    const container = {
      livenessProbe: { quantum: {}, terminationGracePeriodSeconds: 0 },
      readinessProbe: { ...EXEC, periodSeconds: -5, terminationGracePeriodSeconds: 3 },
      lifecycle: { preStop: { tcpSocket: { port: 1 } }, stopSignal: "SIGNEW" },
    };
    const spec = specOf(writtenPod({ activeDeadlineSeconds: -1, ...init }, container), lenient);
    expect(spec.activeDeadlineSeconds).toBeUndefined();
    expect(spec.initContainers[0]).toEqual(
      aContainer("i", { image: "x:1", restartPolicy: "Never" }),
    );
    expect(spec.containers[0]).toEqual(
      aContainer("a", {
        image: "x:1",
        readinessProbe: {
          handler: { type: "exec", command: ["true"] },
          initialDelaySeconds: 0,
          periodSeconds: 10,
          timeoutSeconds: 1,
          successThreshold: 1,
          failureThreshold: 3,
        },
      }),
    );
  });

  test.each([{ image: "" }, { name: "" }])("but %p of an init container cannot run", (init) => {
    expect(decode(writtenPod(withInit(init)), lenient).pods).toEqual([]);
  });

  test("what was accepted means the same", () => {
    const init = withInit({ restartPolicy: "Always", startupProbe: EXEC });
    const value = writtenPod(init, { lifecycle: { preStop: { sleep: { seconds: 1 } } } });
    expect(decode(value, lenient).pods).toEqual(decode(value).pods);
  });
});

describe("host ports of a pod", () => {
  test("are those of its app containers and sidecars, not of what is gone when they start", () => {
    const at = (hostPort: number) => ({
      ports: [{ containerPort: 1, hostPort, protocol: "TCP" as const }],
    });
    const pod = aPod({
      initContainers: [
        aContainer("plain", at(1)),
        aContainer("sidecar", { ...at(2), restartPolicy: "Always" }),
        aContainer("own-policy", { ...at(3), restartPolicy: "OnFailure" }),
      ],
      containers: [aContainer("a", { ...at(4), restartPolicy: "Always" })],
    });
    expect(hostPortClaims(pod).map(({ hostPort }) => hostPort)).toEqual([2, 4]);
  });
});
