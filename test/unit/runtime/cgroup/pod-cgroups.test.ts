import { describe, expect, test } from "bun:test";
import { CONFIG_DEFAULTS } from "../../../fakes/config-defaults.ts";
import type { AgentConfig } from "../../../../src/config/config.ts";
import type { DesiredPod } from "../../../../src/api/pod/desired-pod.ts";
import type { Pod } from "../../../../src/api/v1/pod.ts";
import { PodCgroups, type PodCgroupsOptions } from "../../../../src/runtime/cgroup/pod-cgroups.ts";
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
}

function aWorld({ driver = "cgroupfs", config, controllers, active = [] }: World = {}) {
  const written: string[] = [];
  const lines: string[] = [];
  const has = controllers ?? ["cpu", "memory", "pids"];
  const options: PodCgroupsOptions = {
    edges: {
      cgroups: {
        facts: { version: 2, controllers: has, mountPoint: "/sys/fs/cgroup", hasSwap: false },
        write: (path, values, { make }) =>
          values.flatMap((value): readonly CgroupFailure[] => {
            if (!has.includes(value.controller)) return [{ path, value, message: "there is none" }];
            written.push(`${make ? "make " : ""}${path} ${value.file}=${value.value}`);
            return [];
          }),
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
        serial: "",
        mac: "",
        cpus: 4,
        memoryBytes: 1024 ** 3,
        hugePages: {},
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
  return { cgroups: new PodCgroups(options), written, lines };
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
    expect(written.slice(2)).toEqual([
      "make kubepods/burstable cpu.weight=59",
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
