import { describe, expect, test } from "bun:test";
import { CONFIG_DEFAULTS } from "../../../fakes/config-defaults.ts";
import type { AgentConfig } from "../../../../src/config/config.ts";
import type { DesiredPod } from "../../../../src/api/pod/desired-pod.ts";
import type { Pod } from "../../../../src/api/v1/pod.ts";
import { PodCgroups, type PodCgroupsOptions } from "../../../../src/runtime/cgroup/pod-cgroups.ts";
import {
  NodeCgroups,
  type NodeCgroupsOptions,
} from "../../../../src/runtime/cgroup/node-cgroups.ts";
import type { CgroupController, CgroupFailure } from "../../../../src/host/cgroups.ts";
import { realFiles } from "../../../../src/host/real-files.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import type { CgroupDriver } from "../../../../src/runtime/cgroup/cgroup-parent.ts";
import { aContainer, aDesiredPod, aPod } from "../../../fakes/a-pod.ts";
import { VirtualClock } from "../../../fakes/fake-clock.ts";
import type { ResourceList } from "../../../../src/api/v1/resources.ts";

interface World {
  readonly driver?: CgroupDriver;
  readonly config?: Partial<AgentConfig>;
  readonly controllers?: readonly CgroupController[];
  readonly active?: readonly Pod[];
  readonly maxPids?: number;
}

function aWorld({ driver = "cgroupfs", config, controllers, active = [], maxPids }: World = {}) {
  const written: string[] = [];
  const lines: string[] = [];
  const has = controllers ?? ["cpu", "memory", "pids"];
  const options: NodeCgroupsOptions & Pick<PodCgroupsOptions, "edges"> = {
    edges: {
      cgroups: {
        facts: { version: 2, controllers: has, mountPoint: "/sys/fs/cgroup", hasSwap: false },
        write: (path, values, { make }) =>
          values.flatMap((value): readonly CgroupFailure[] => {
            if (!has.includes(value.controller)) return [{ path, value, message: "there is none" }];
            written.push(`${make ? "make " : ""}${path} ${value.file}=${value.value}`);
            return [];
          }),
        oomKills: () => undefined,
      },
      files: realFiles(),
      log: createLogger({
        clock: new VirtualClock(),
        level: "info",
        write: (line) => lines.push(line),
      }),
      machine: {
        hostname: "pi",
        machineId: "",
        systemUuid: "",
        serial: "",
        mac: "",
        cpus: 4,
        memoryBytes: 1024 ** 3,
        hugePages: {},
        ...(maxPids === undefined ? {} : { maxPids }),
        hasAppArmor: false,
        kernelVersion: "",
        osImage: "",
        architecture: "arm64",
      },
    },
    config: {
      ...CONFIG_DEFAULTS,
      resolvConf: "",
      imageServiceEndpoint: "",
      nodeLabels: {},
      claimRoot: "",
      ...config,
    },
    runtime: { cgroupDriver: driver },
    activePods: () => active,
  };
  const nodeCgroups = new NodeCgroups(options);
  return { cgroups: new PodCgroups({ ...options, nodeCgroups }), nodeCgroups, written, lines };
}

function asking(name: string, amounts: { requests?: ResourceList; limits?: ResourceList }): Pod {
  const resources = { requests: {}, limits: {}, ...amounts };
  return aPod({ containers: [aContainer("a", { resources })] }, { name, uid: `uid-${name}` });
}
const plain: DesiredPod = aDesiredPod(asking("plain", {}));

describe("the cgroupfs driver", () => {
  test("the pod's cgroup and those around it are there before the sandbox", () => {
    const { cgroups, written } = aWorld();
    cgroups.prepare(plain);
    cgroups.settle(plain);
    expect(written).toEqual([
      "make kubepods cpu.weight=157",
      "make kubepods memory.max=max",
      "make kubepods pids.max=max",
      "make kubepods/burstable cpu.weight=1",
      "make kubepods/besteffort cpu.weight=1",
      "make kubepods/besteffort/poduid-plain cpu.weight=1",
    ]);
  });

  test("burstable pods together weigh what those that have not ended ask for", () => {
    const pod = asking("new", { requests: { cpu: "1" } });
    const active = [
      pod,
      asking("other", { requests: { cpu: "500m" } }),
      asking("guaranteed", {
        requests: { cpu: "9", memory: "1" },
        limits: { cpu: "9", memory: "1" },
      }),
    ];
    const { cgroups, written } = aWorld({ active });
    cgroups.prepare(aDesiredPod(pod));
    expect(written.slice(3)).toEqual([
      "make kubepods/burstable cpu.weight=59",
      "make kubepods/besteffort cpu.weight=1",
      "make kubepods/burstable/poduid-new cpu.weight=39",
    ]);
  });

  test("what is reserved bounds all pods", () => {
    const config = { systemReserved: { cpu: "1" }, kubeReserved: { memory: "24Mi" } };
    const { cgroups, written } = aWorld({ config });
    cgroups.prepare(plain);
    expect(written.slice(0, 2)).toEqual([
      "make kubepods cpu.weight=118",
      `make kubepods memory.max=${1000 * 1024 ** 2}`,
    ]);
  });
});

test("with systemd the runtime makes the slices, and the limits follow", () => {
  const { cgroups, written } = aWorld({ driver: "systemd", config: { podPidsLimit: 99 } });
  cgroups.prepare(plain);
  expect(written).toEqual([]);
  cgroups.settle(plain);
  expect(written.at(-1)).toBe(
    "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poduid_plain.slice pids.max=99",
  );
});

describe("what the kernel lacks", () => {
  const limited = aDesiredPod(asking("limited", { limits: { memory: "64Mi" } }));

  test("is logged once where no limit requires it", () => {
    const { cgroups, lines } = aWorld({ controllers: ["pids"] });
    cgroups.prepare(plain);
    cgroups.prepare(plain);
    expect(lines.map((line) => /"file":"([^"]+)"/.exec(line)?.[1])).toEqual([
      "cpu.weight",
      "memory.max",
    ]);
  });

  test("keeps a pod from running without a limit that it was given", () => {
    const config = { podPidsLimit: 99 };
    const { cgroups } = aWorld({ controllers: ["cpu", "memory"], config });
    expect(() => cgroups.prepare(plain)).toThrow(
      "the limit pids.max=99 of pod default/plain cannot be enforced: there is none",
    );
  });

  test("comes with what to do about memory", () => {
    const { cgroups } = aWorld({ controllers: ["cpu"] });
    expect(() => cgroups.prepare(limited)).toThrow("cgroup_enable=memory");
    expect(() => cgroups.prepare(limited)).toThrow(
      expect.objectContaining({ reason: "CreatePodSandboxError" }),
    );
  });
});

describe("what is kept from pods", () => {
  const reserve = {
    systemReserved: { cpu: "500m", memory: "24Mi", pid: "100" },
    kubeReserved: { cpu: "500m", pid: "50" },
  };

  test("bounds their memory, CPU and processes from the start", () => {
    const { nodeCgroups, written } = aWorld({ config: reserve, maxPids: 1000 });
    nodeCgroups.start();
    expect(written).toEqual([
      "make kubepods cpu.weight=118",
      `make kubepods memory.max=${1000 * 1024 ** 2}`,
      "make kubepods pids.max=850",
      "make kubepods/burstable cpu.weight=1",
      "make kubepods/besteffort cpu.weight=1",
    ]);
  });

  test("is a matter of admission alone where it is not enforced", () => {
    const config = { ...reserve, enforceNodeAllocatable: ["none"] as const };
    const { nodeCgroups, written } = aWorld({ config, maxPids: 1000 });
    nodeCgroups.start();
    expect(written.slice(0, 3)).toEqual([
      "make kubepods cpu.weight=157",
      "make kubepods memory.max=max",
      "make kubepods pids.max=max",
    ]);
  });

  test("limits the existing cgroups of the system too, if asked for", () => {
    const config = {
      ...reserve,
      enforceNodeAllocatable: ["system-reserved", "kube-reserved-compressible"] as const,
      systemReservedCgroup: "/system.slice",
      kubeReservedCgroup: "run-time.slice",
    };
    const { nodeCgroups, written } = aWorld({ config, driver: "systemd" });
    nodeCgroups.start();
    expect(written).toEqual([
      "system.slice cpu.weight=20",
      `system.slice memory.max=${24 * 1024 ** 2}`,
      "system.slice pids.max=100",
      "run.slice/run-time.slice cpu.weight=20",
    ]);
  });

  test("does not limit processes of which the kernel has no number", () => {
    const { nodeCgroups, written } = aWorld({ config: reserve });
    nodeCgroups.start();
    expect(written).toContain("make kubepods pids.max=max");
  });
});

describe("the cgroup of a class", () => {
  const pod = asking("one", { requests: { cpu: "1" } });

  test("weighs less when a pod is gone, and is not written again without a change", () => {
    const active = [pod, asking("two", { requests: { cpu: "1" } })];
    const { cgroups, nodeCgroups, written } = aWorld({ active });
    cgroups.prepare(aDesiredPod(pod));
    const before = written.length;
    active.pop();
    nodeCgroups.update();
    nodeCgroups.update();
    expect(written.slice(before)).toEqual(["kubepods/burstable cpu.weight=39"]);
  });

  test("of systemd that is not there yet is left out", () => {
    const { cgroups, written } = aWorld({ driver: "systemd" });
    cgroups.settle(plain);
    expect(written.filter((line) => line.includes("burstable"))).toEqual([]);
  });

  test("protects what its pods request with MemoryQoS", () => {
    const limits = { cpu: "1", memory: "64Mi" };
    const active = [asking("guaranteed", { limits, requests: limits })];
    const burstable = asking("burstable", { requests: { memory: "32Mi" } });
    const { cgroups, written } = aWorld({ active, config: { featureGates: { MemoryQoS: true } } });
    cgroups.prepare(aDesiredPod(burstable));
    expect(written.filter((line) => line.includes("memory.min"))).toEqual([
      `make kubepods memory.min=${96 * 1024 ** 2}`,
      `make kubepods/burstable memory.min=${32 * 1024 ** 2}`,
      `make kubepods/burstable/poduid-burstable memory.min=${32 * 1024 ** 2}`,
    ]);
  });
});

describe("without cgroups per class", () => {
  const config = { cgroupsPerQOS: false, enforceNodeAllocatable: [] };

  test("no cgroup is made, limited or removed", () => {
    const { cgroups, nodeCgroups, written } = aWorld({ config });
    nodeCgroups.start();
    cgroups.prepare(plain);
    cgroups.remove(plain.uid);
    expect(written).toEqual([]);
  });

  test.each([
    ["cgroupfs", "/", "/"],
    ["cgroupfs", "/a/b", "/a/b"],
    ["systemd", "/", "system.slice"],
    ["systemd", "/apps.slice", "apps.slice"],
  ] as const)("containers lie right below the root: %s, %s", (driver, cgroupRoot, parent) => {
    const { cgroups } = aWorld({ driver, config: { ...config, cgroupRoot } });
    expect(cgroups.parent(plain)).toBe(parent);
  });
});

describe("the condition CgroupLimited", () => {
  test("names what the kernel lacks and what helps, until it is there", () => {
    const controllers: CgroupController[] = ["pids"];
    const { cgroups, nodeCgroups } = aWorld({ controllers });
    expect(nodeCgroups.conditions()).toEqual([]);
    cgroups.prepare(plain);
    const [condition] = nodeCgroups.conditions();
    expect(condition).toMatchObject({ type: "CgroupLimited", reason: "ControllerMissing" });
    expect(condition?.message).toContain("the kernel has no cpu cgroup");
    expect(condition?.message).toContain("cgroup_enable=memory");
    controllers.push("cpu", "memory");
    cgroups.prepare(plain);
    expect(nodeCgroups.conditions()).toEqual([]);
  });

  test("names what cannot be written", () => {
    const { nodeCgroups } = aWorld();
    const value = { controller: "cpu", file: "cpu.weight", value: "1", isLimit: false } as const;
    const message = "/sys/fs/cgroup/kubepods/cpu.weight: EROFS: read-only file system";
    nodeCgroups.report("allPods", [value], [{ path: "kubepods", value, message }]);
    const [condition] = nodeCgroups.conditions();
    expect(condition?.reason).toBe("CannotWrite");
    expect(condition?.message).toContain(message);
  });
});
