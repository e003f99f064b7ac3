// In which cgroup the kernel's counter of a container's kills is looked for.

import { expect, test } from "bun:test";
import type { CgroupDriver } from "../../../../src/runtime/cgroup/cgroup-parent.ts";
import { OomKills } from "../../../../src/runtime/cgroup/oom-kills.ts";

interface Place {
  readonly driver: CgroupDriver;
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
}

const USUAL: Place = { driver: "cgroupfs", cgroupRoot: "/", cgroupsPerQOS: true };

/** Whether kills are found when they are counted at this path alone. */
function finds(path: string, place: Partial<Place>, kills = 1): boolean {
  const { driver, ...config } = { ...USUAL, ...place };
  const cgroups = { oomKills: (asked: string) => (asked === path ? kills : undefined) };
  return new OomKills({ cgroups, config, cgroupDriver: () => driver }).has("u-1", "c1");
}

const cases: Readonly<Record<string, readonly [path: string, place: Partial<Place>]>> = {
  "a Guaranteed pod": ["kubepods/podu-1/c1", {}],
  "a Burstable pod": ["kubepods/burstable/podu-1/c1", {}],
  "a BestEffort pod below another root": [
    "edge/kubepods/besteffort/podu-1/c1",
    { cgroupRoot: "/edge" },
  ],
  "a Guaranteed pod of systemd": [
    "kubepods.slice/kubepods-podu_1.slice/cri-containerd-c1.scope",
    { driver: "systemd" },
  ],
  "a Burstable pod of systemd": [
    "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu_1.slice/cri-containerd-c1.scope",
    { driver: "systemd" },
  ],
  "a pod without a cgroup of its own": ["edge/c1", { cgroupsPerQOS: false, cgroupRoot: "/edge" }],
  "a pod of systemd without a slice of its own": [
    "system.slice/cri-containerd-c1.scope",
    { cgroupsPerQOS: false, driver: "systemd" },
  ],
};

test.each(Object.entries(cases))("a kill in %s is found", (_case, [path, place]) => {
  expect(finds(path, place)).toBe(true);
  expect(finds(path, place, 0)).toBe(false);
});

test("a kill in another container of the pod is not", () => {
  expect(finds("kubepods/podu-1/c2", {})).toBe(false);
});

test("a kill that only the pod's cgroup shows is found once", () => {
  const pod = "kubepods.slice/kubepods-podu_1.slice";
  let counted = 0;
  const cgroups = { oomKills: (asked: string) => (asked === pod ? counted : undefined) };
  const config = { cgroupRoot: "/", cgroupsPerQOS: true };
  const kills = new OomKills({ cgroups, config, cgroupDriver: () => "systemd" });
  expect(kills.has("u-1", "c1")).toBe(false);
  counted = 2;
  expect(kills.has("u-1", "c1")).toBe(true);
  expect(kills.has("u-1", "c2")).toBe(false);
  counted = 3;
  kills.note("u-1");
  expect(kills.has("u-1", "c1")).toBe(false);
  expect(kills.has("u-2", "c1")).toBe(false);
});
