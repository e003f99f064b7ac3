import { describe, expect, test } from "bun:test";
import {
  cgroupParent,
  cgroupPaths,
  podCgroupDirectories,
  type PodCgroup,
} from "../../../../src/runtime/cgroup/cgroup-parent.ts";

const uid = "6f0c3a52-0000-8000-8000-000000000001";
const slice = "pod6f0c3a52_0000_8000_8000_000000000001.slice";
const fs: PodCgroup = { uid, qos: "BestEffort", driver: "cgroupfs", cgroupRoot: "/" };
const sd: PodCgroup = { ...fs, driver: "systemd" };

describe("cgroupParent", () => {
  const cases: Record<string, [PodCgroup, string]> = {
    "a best-effort pod": [fs, `/kubepods/besteffort/pod${uid}`],
    "a burstable pod": [{ ...fs, qos: "Burstable" }, `/kubepods/burstable/pod${uid}`],
    "a guaranteed pod lies beside the classes": [
      { ...fs, qos: "Guaranteed" },
      `/kubepods/pod${uid}`,
    ],
    "below a root": [{ ...fs, cgroupRoot: "/a/b/" }, `/a/b/kubepods/besteffort/pod${uid}`],
    "systemd: a best-effort pod": [sd, `kubepods-besteffort-${slice}`],
    "systemd: a burstable pod": [{ ...sd, qos: "Burstable" }, `kubepods-burstable-${slice}`],
    "systemd: a guaranteed pod": [{ ...sd, qos: "Guaranteed" }, `kubepods-${slice}`],
    "systemd: a path becomes slices, a dash in it none": [
      { ...sd, cgroupRoot: "/a-b/c" },
      `a_b-c-kubepods-besteffort-${slice}`,
    ],
    "systemd: a slice stays what it is": [
      { ...sd, cgroupRoot: "/a.slice/a-b.slice" },
      `a-b-kubepods-besteffort-${slice}`,
    ],
  };
  test.each(Object.entries(cases))("%s", (_, [pod, expected]) => {
    expect(cgroupParent(pod)).toBe(expected);
  });
});

describe("podCgroupDirectories", () => {
  const v2 = { version: 2, mountPoint: "/sys/fs/cgroup", hierarchies: [] } as const;
  const v1 = {
    version: 1,
    mountPoint: "/sys/fs/cgroup",
    hierarchies: ["cpu,cpuacct", "memory"],
  } as const;

  test("in version 2 there is one", () => {
    expect(podCgroupDirectories(fs, v2)).toEqual([`/sys/fs/cgroup/kubepods/besteffort/pod${uid}`]);
  });

  test("in version 1 there is one in each hierarchy", () => {
    expect(podCgroupDirectories({ ...fs, qos: "Guaranteed" }, v1)).toEqual([
      `/sys/fs/cgroup/cpu,cpuacct/kubepods/pod${uid}`,
      `/sys/fs/cgroup/memory/kubepods/pod${uid}`,
    ]);
  });

  test("of systemd lie slice in slice", () => {
    expect(podCgroupDirectories({ ...sd, cgroupRoot: "/a" }, v2)).toEqual([
      `/sys/fs/cgroup/a.slice/a-kubepods.slice/a-kubepods-besteffort.slice/a-kubepods-besteffort-${slice}`,
    ]);
  });
});

describe("cgroupPaths", () => {
  test("of a class lie around the pod", () => {
    expect(cgroupPaths({ ...fs, cgroupRoot: "/a/b" })).toEqual({
      allPods: "a/b/kubepods",
      qos: "a/b/kubepods/besteffort",
      pod: `a/b/kubepods/besteffort/pod${uid}`,
    });
  });

  test("of a guaranteed pod has no class between", () => {
    expect(cgroupPaths({ ...fs, qos: "Guaranteed" })).toEqual({
      allPods: "kubepods",
      pod: `kubepods/pod${uid}`,
    });
  });

  test("of systemd are slices", () => {
    expect(cgroupPaths({ ...sd, qos: "Burstable" })).toEqual({
      allPods: "kubepods.slice",
      qos: "kubepods.slice/kubepods-burstable.slice",
      pod: `kubepods.slice/kubepods-burstable.slice/kubepods-burstable-${slice}`,
    });
  });
});
