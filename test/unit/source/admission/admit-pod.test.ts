import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { amountsOf } from "../../../../src/api/resource/pod-requests-limits.ts";
import type { PodSpec } from "../../../../src/api/v1/pod-spec.ts";
import type { Pod } from "../../../../src/api/v1/pod.ts";
import type { SecurityProfile } from "../../../../src/api/v1/security-context.ts";
import { admit, type NodeInfo } from "../../../../src/source/admission/admit-pod.ts";
import { Room } from "../../../../src/source/admission/room.ts";
import { aContainer, aPod } from "../../../fakes/a-pod.ts";
import type { ResourceList } from "../../../../src/api/v1/resources.ts";
import type { Container } from "../../../../src/api/v1/container.ts";

const node: NodeInfo = {
  nodeName: "pi-1",
  labels: {},
  ownLabels: {},
  allocatable: amountsOf({ cpu: "2", memory: "1Gi", "hugepages-2Mi": "0", pods: "110" }),
  hasAppArmor: false,
  maxPods: 110,
  allowedUnsafeSysctls: ["net.core.*"],
  runtimeClasses: { gvisor: "runsc" },
  priorityClasses: { high: 1000 },
};

function asking(requests: ResourceList): Container {
  return aContainer("a", { resources: { requests, limits: {} } });
}
function pod(name: string, requests: ResourceList): Pod {
  return aPod({ containers: [asking(requests)] }, { name });
}
function roomOf(...pods: readonly Pod[]): Room {
  const room = new Room();
  for (const one of pods) room.add(one);
  return room;
}
function sysctls(...names: readonly string[]): Partial<PodSpec> {
  const list = names.map((name) => ({ name, value: "1" }));
  return { securityContext: { supplementalGroups: [], sysctls: list } };
}
function armoured(appArmorProfile: SecurityProfile): Partial<PodSpec> {
  return { securityContext: { supplementalGroups: [], sysctls: [], appArmorProfile } };
}

const cases: Readonly<
  Record<string, readonly [spec: Partial<PodSpec>, expected?: readonly [string, string, string]]>
> = {
  "a pod that asks for nothing": [{}],
  "safe and allowed sysctls": [
    sysctls("net.ipv4.tcp_syncookies", "kernel.shm_rmid_forced", "net/core/somaxconn"),
  ],
  "a sysctl that is not allowed": [
    sysctls("net.ipv4.tcp_syncookies", "net.ipv4.tcp_mem"),
    [
      "SysctlForbidden",
      "spec.securityContext.sysctls[1].name",
      'forbidden sysctl: "net.ipv4.tcp_mem" not allowlisted (allowedUnsafeSysctls of the configuration)',
    ],
  ],
  "a sysctl of the whole node": [
    sysctls("vm.swappiness"),
    [
      "SysctlForbidden",
      "spec.securityContext.sysctls[0].name",
      'forbidden sysctl: "vm.swappiness" not allowlisted',
    ],
  ],
  "a sysctl of a network that is the node's": [
    { ...sysctls("net.ipv4.tcp_syncookies"), hostNetwork: true },
    [
      "SysctlForbidden",
      "spec.securityContext.sysctls[0].name",
      'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host net enabled',
    ],
  ],
  "a sysctl of shared memory that is the node's": [
    { ...sysctls("kernel.shm_rmid_forced"), hostIPC: true },
    [
      "SysctlForbidden",
      "spec.securityContext.sysctls[0].name",
      'forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host ipc enabled',
    ],
  ],
  "the node's network does not matter to shared memory": [
    { ...sysctls("kernel.shm_rmid_forced"), hostNetwork: true },
  ],
  "a profile that this kernel cannot enforce": [
    armoured({ type: "RuntimeDefault" }),
    [
      "AppArmor",
      "spec.securityContext.appArmorProfile",
      "Cannot enforce AppArmor: AppArmor is not enabled on the host",
    ],
  ],
  "a profile of one container": [
    {
      containers: [
        aContainer("a"),
        aContainer("b", {
          securityContext: { appArmorProfile: { type: "Localhost", localhostProfile: "x" } },
        }),
      ],
    },
    [
      "AppArmor",
      "spec.containers[1].securityContext.appArmorProfile",
      "Cannot enforce AppArmor: AppArmor is not enabled on the host",
    ],
  ],
  "no profile at all is what this kernel has anyway": [armoured({ type: "Unconfined" })],
  "a known class of priority": [{ priorityClassName: "high" }],
  "the number of its class beside it": [{ priorityClassName: "high", priority: 1000 }],
  "another number beside the class": [
    { priorityClassName: "high", priority: 5 },
    [
      "Forbidden",
      "spec.priority",
      "the integer value of priority (5) must not be provided in pod spec; the PriorityClass high has 1000",
    ],
  ],
  "an unknown priority class": [
    { priorityClassName: "urgent" },
    [
      "PriorityClassNotFound",
      "spec.priorityClassName",
      "no PriorityClass with name urgent was found; add it with its value to priorityClasses in the agent's configuration",
    ],
  ],
  "a known class of runtime": [{ runtimeClassName: "gvisor" }],
  "an unknown runtime class": [
    { runtimeClassName: "kata" },
    [
      "RuntimeClassNotFound",
      "spec.runtimeClassName",
      'RuntimeClass "kata" not found; add it with its handler to runtimeClasses in the agent\'s configuration',
    ],
  ],
  "a selector of another node": [
    { nodeSelector: { site: "paris" } },
    [
      "NodeAffinity",
      "spec.nodeSelector[site]",
      "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector (requires site=paris, this node has no site; set it in nodeLabels of the agent's configuration, or change the pod)",
    ],
  ],
  "all there is": [{ containers: [asking({ cpu: "2", memory: "1Gi" })] }],
  "more processors than there are": [
    { containers: [asking({ cpu: "4" })] },
    [
      "OutOfcpu",
      "spec.containers[0].resources.requests[cpu]",
      "Node didn't have enough resource: cpu, requested: 4000, used: 0, capacity: 2000",
    ],
  ],
  "an init container that needs more memory than there is": [
    { initContainers: [aContainer("i"), asking({ memory: "2Gi" })] },
    [
      "OutOfmemory",
      "spec.initContainers[1].resources.requests[memory]",
      "Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824",
    ],
  ],
  "overhead alone": [
    { overhead: { cpu: "3" } },
    [
      "OutOfcpu",
      "spec.overhead[cpu]",
      "Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000",
    ],
  ],
  "the pod as a whole": [
    { resources: { requests: { cpu: "3" }, limits: {} } },
    [
      "OutOfcpu",
      "spec.resources.requests[cpu]",
      "Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000",
    ],
  ],
  "huge pages that the node has not reserved": [
    { containers: [asking({ "hugepages-2Mi": "2Mi" })] },
    [
      "OutOfhugepages-2Mi",
      "spec.containers[0].resources.requests[hugepages-2Mi]",
      "Node didn't have enough resource: hugepages-2Mi, requested: 2097152, used: 0, capacity: 0",
    ],
  ],
  "a request of nothing asks for nothing": [
    { containers: [asking({ "hugepages-1Gi": "0", cpu: "0" })] },
  ],
  "a device is not counted": [{ containers: [asking({ "podman.io/device=/dev/ttyUSB0": "1" })] }],
};

describe("admit", () => {
  test.each(Object.entries(cases))("%s", (_sentence, [spec, expected]) => {
    const [code, path, message] = expected ?? [];
    expect(admit(aPod(spec), node, new Room())).toEqual(
      expected === undefined ? undefined : ({ code, path, message } as never),
    );
  });

  test("a kernel with AppArmor enforces profiles", () => {
    const spec = armoured({ type: "Localhost", localhostProfile: "x" });
    expect(admit(aPod(spec), { ...node, hasAppArmor: true }, new Room())).toBeUndefined();
  });

  test("errors that need an edit are reported before lacking resources", () => {
    const spec = { nodeSelector: { site: "x" }, containers: [asking({ cpu: "4" })] };
    expect(admit(aPod(spec), node, new Room())?.code).toBe("NodeAffinity");
  });
});

describe("the label of the operating system", () => {
  const labelled = (system: string): Pod => ({
    ...aPod(),
    metadata: { ...aPod().metadata, labels: { "kubernetes.io/os": system } },
  });

  test("that is this node's is well", () => {
    expect(admit(labelled("linux"), node, new Room())).toBeUndefined();
  });

  test("that is another's is refused", () => {
    expect(admit(labelled("windows"), node, new Room())).toEqual({
      code: "PodOSSelectorNodeLabelDoesNotMatch",
      path: "metadata.labels[kubernetes.io/os]",
      message: 'this node is "linux", and the pod is labelled "windows"; remove the label',
    });
  });
});

describe("room", () => {
  test("of others is taken", () => {
    const taken = roomOf(pod("a", { cpu: "500m" }), pod("b", { cpu: "1" }));
    expect(admit(pod("c", { cpu: "500m" }), node, taken)).toBeUndefined();
    expect(admit(pod("c", { cpu: "501m" }), node, taken)?.message).toBe(
      "Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000",
    );
  });

  test("of a pod's own predecessor is its own", () => {
    expect(admit(pod("a", { cpu: "2" }), node, roomOf(pod("a", { cpu: "2" })))).toBeUndefined();
  });

  test("of two specs of one name is what either needs", () => {
    const taken = roomOf(
      pod("a", { cpu: "1500m", memory: "1Mi" }),
      pod("a", { cpu: "1", memory: "2Mi" }),
    );
    expect(admit(pod("b", { cpu: "1" }), node, taken)?.message).toContain("used: 1500,");
    expect(admit(pod("b", { memory: "1Gi" }), node, taken)?.message).toContain("used: 2097152,");
  });

  test("a full node takes a pod that asks for nothing", () => {
    expect(admit(aPod(), node, roomOf(pod("a", { cpu: "9" })))).toBeUndefined();
  });

  test("admitted pods never request more than is allocatable", () => {
    const anyRequests = fc.array(fc.integer({ min: 0, max: 1500 }), { maxLength: 8 });
    fc.assert(
      fc.property(anyRequests, (requests) => {
        const taken = new Room();
        let total = 0;
        for (const [index, milli] of requests.entries()) {
          const newcomer = pod(`p${index}`, { cpu: `${milli}m` });
          const refused = admit(newcomer, node, taken) !== undefined;
          expect(refused).toBe(milli > 0 && total + milli > 2000);
          if (refused) continue;
          taken.add(newcomer);
          total += milli;
        }
        expect(total).toBeLessThanOrEqual(2000);
      }),
    );
  });
});
