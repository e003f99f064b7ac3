import { describe, expect, test } from "bun:test";
import {
  judgeCgroups,
  judgeDisk,
  judgeKernel,
  judgeLibraries,
  judgeTime,
  type CgroupSight,
  type DiskRoom,
  type KernelFacts,
} from "../../../../src/cli/check/judge-machine.ts";
import { compareVersions } from "../../../../src/cli/check/versions.ts";
import type { Finding } from "../../../../src/cli/check/finding.ts";

const words = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ level, message, remedy }) => [level, message, remedy ?? ""].join(" | "));

const KERNEL: KernelFacts = {
  version: "6.1.0-rpi7-rpi-v8",
  fileSystems: ["ext4", "overlay"],
  hasOverlayModule: undefined,
  namespaces: ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"],
  hasSeccomp: true,
};

describe("the kernel", () => {
  test.each([
    ["has everything", {}, "ok"],
    ["can load overlay", { fileSystems: [], hasOverlayModule: true }, "ok"],
    ["lacks overlay", { fileSystems: [], hasOverlayModule: false }, "error"],
    ["may lack overlay", { fileSystems: [] }, "error"],
    ["is old", { version: "5.4.0-150-generic" }, "warning"],
    ["is exactly old enough", { version: "5.10.0-9-amd64" }, "ok"],
    ["lacks a namespace", { namespaces: ["ipc", "mnt", "net", "uts"] }, "error"],
    ["lacks seccomp", { hasSeccomp: false }, "warning"],
  ] as const)("%s", (_case, more, level) => {
    expect(judgeKernel({ ...KERNEL, ...more }).map((one) => one.level)).toEqual([level]);
  });
});

describe("cgroups", () => {
  const sight: CgroupSight = {
    version: 2,
    controllers: ["cpu", "cpuset", "memory", "pids"],
    commandLine: "console=tty1 rootwait",
    commandLineFile: "/boot/firmware/cmdline.txt",
  };
  test("with all controllers are fine, in both versions", () => {
    expect(words(judgeCgroups(sight))).toEqual([
      "ok | cgroups v2 with cpu, cpuset, memory, pids | ",
    ]);
    expect(judgeCgroups({ ...sight, version: 1 })[0]?.level).toBe("ok");
  });

  const noMemory = { ...sight, controllers: ["cpu", "pids"] };
  test.each([
    [
      {},
      "append to the one line of /boot/firmware/cmdline.txt: cgroup_enable=memory cgroup_memory=1, and reboot",
    ],
    [
      { commandLine: "cgroup_enable=memory quiet" },
      "append to the one line of /boot/firmware/cmdline.txt: cgroup_memory=1, and reboot",
    ],
    [
      { commandLineFile: undefined },
      "append to the one line of the kernel's command line: cgroup_enable=memory cgroup_memory=1 (GRUB: GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub), and reboot",
    ],
    [
      { commandLine: "cgroup_memory=1 cgroup_enable=memory" },
      "the command line of the kernel asks for it already: use a kernel with CONFIG_MEMCG",
    ],
  ])("without the memory controller need the line %#", (more, remedy) => {
    const [finding] = judgeCgroups({ ...noMemory, ...more });
    expect(finding).toMatchObject({ level: "error", remedy });
  });

  test("without another controller are doubtful", () => {
    const [finding] = judgeCgroups({ ...sight, controllers: ["cpu", "memory"] });
    expect(finding).toMatchObject({ level: "warning" });
    expect(finding?.message).toContain("pids");
  });
});

test.each([
  ["synchronised", { isSynchronised: true, now: 20 }, "ok"],
  ["not synchronised", { isSynchronised: false, now: 20 }, "warning"],
  ["in the past, whatever the kernel reports", { isSynchronised: true, now: 5 }, "error"],
] as const)("a clock that is %s", (_case, facts, level) => {
  expect(judgeTime({ ...facts, floor: 10 }).map((one) => one.level)).toEqual([level]);
});

test.each([
  [{ glibc: "2.36", libstdcxx: "6.0.30" }, ["ok"]],
  [{ glibc: "2.34", libstdcxx: "" }, ["ok"]],
  [{ glibc: "2.31", libstdcxx: "6.0.28" }, ["error", "error"]],
  [{ glibc: undefined, libstdcxx: undefined }, ["error", "error"]],
] as const)("libraries %p", (facts, levels) => {
  expect(judgeLibraries(facts).map((one) => one.level)).toEqual([...levels]);
});

describe("a disk", () => {
  const room: DiskRoom = {
    what: "stateDir",
    path: "/var/lib/agent",
    sizeBytes: 100 * 1024 ** 3,
    freeBytes: 50 * 1024 ** 3,
    inodes: 1000,
    freeInodes: 900,
    isWritable: true,
  };
  test.each([
    [{}, "ok", "50.0 GiB of 100.0 GiB free (50 %)"],
    [{ freeBytes: 14 * 1024 ** 3 }, "warning", "14.0 GiB of 100.0 GiB free (14 %)"],
    [{ freeBytes: 1024 ** 3 }, "error", "1.0 GiB of 100.0 GiB free (1 %)"],
    [{ freeInodes: 40 }, "warning", "40 of 1000 inodes free (4 %)"],
    [{ freeInodes: 5 }, "error", "5 of 1000 inodes free (0 %)"],
    [{ inodes: 0, freeInodes: 0 }, "ok", "(50 %)"],
    [{ isWritable: false }, "error", "cannot be written"],
  ] as const)("with %p is judged %s", (more, level, part) => {
    const finding = judgeDisk({ ...room, ...more });
    expect(finding.level).toBe(level);
    expect(finding.message).toContain(part);
  });
});

test.each([
  ["1.6.20~ds1", "1.6", 1],
  ["v1.7.24", "1.6", 1],
  ["2.1", "2.1.0", 0],
  ["1.5.13", "1.6", -1],
  ["", "1.6", -1],
] as const)("version %p against %p", (a, b, sign) => {
  expect(Math.sign(compareVersions(a, b))).toBe(sign);
});
