// The place of a pod in the cgroup tree, laid out as the kubelet's. kubelet: CgroupName, podContainerManager

import type { QosClass } from "../../api/resource/qos.ts";

export type CgroupDriver = "systemd" | "cgroupfs";

export interface PodCgroup {
  readonly uid: string;
  readonly qos: QosClass;
  readonly driver: CgroupDriver;
  /** `cgroupRoot`: a path ("/" = the root) or, for systemd, also a slice. */
  readonly cgroupRoot: string;
}

export interface CgroupTree {
  readonly version: 1 | 2;
  /** Where the tree is mounted, `/sys/fs/cgroup`. */
  readonly mountPoint: string;
  /** Version 1: the names of the hierarchies' directories below it (`cpu,cpuacct`, `memory`, …); ignored for version 2. */
  readonly hierarchies: readonly string[];
}

/**
 * CRI's `cgroup_parent`: a path for cgroupfs (`/kubepods/burstable/pod<uid>`), the name of a slice for
 * systemd (`kubepods-burstable-pod<uid_>.slice`). The runtime creates missing levels.
 */
export function cgroupParent(pod: PodCgroup): string {
  switch (pod.driver) {
    case "cgroupfs":
      return `/${cgroupfsParts(pod).join("/")}`;
    case "systemd":
      return `${sliceParts(pod).join("-")}.slice`;
  }
}

/** The same without cgroups of pods and classes: every container lies right below the root. */
export function bareParent({
  driver,
  cgroupRoot,
}: Pick<PodCgroup, "driver" | "cgroupRoot">): string {
  if (driver === "cgroupfs") return `/${partsOf(cgroupRoot).join("/")}`;
  const slices = rootSlices(cgroupRoot);
  // systemd's own default: a container cannot lie in the root slice.
  return `${slices.length === 0 ? "system" : slices.join("-")}.slice`;
}

/** A cgroup that the configuration names, from the root of the tree: a path, or a slice by its name alone. */
export function namedCgroup(name: string): string {
  const parts = partsOf(name);
  const [only] = parts;
  if (parts.length !== 1 || only?.endsWith(".slice") !== true) return parts.join("/");
  return nestedSlices(only.slice(0, -".slice".length).split("-")).join("/");
}

/** The common cgroups of pods, from the root of the tree. */
export function nodeCgroupPaths(
  place: Pick<PodCgroup, "driver" | "cgroupRoot">,
): Readonly<Record<"allPods" | "Burstable" | "BestEffort", string>> {
  const of = (qos: QosClass): CgroupPaths => cgroupPaths({ ...place, qos, uid: "" });
  const [burstable, bestEffort] = [of("Burstable"), of("BestEffort")];
  return {
    allPods: burstable.allPods,
    Burstable: burstable.qos ?? "",
    BestEffort: bestEffort.qos ?? "",
  };
}

/**
 * The pod's own directories, one per hierarchy. A runtime removes only the containers' cgroups, so these stay behind,
 * empty, when the pod is gone.
 */
export function podCgroupDirectories(pod: PodCgroup, tree: CgroupTree): readonly string[] {
  const inTree = namesInTree(pod).join("/");
  if (tree.version === 2) return [`${tree.mountPoint}/${inTree}`];
  return tree.hierarchies.map((hierarchy) => `${tree.mountPoint}/${hierarchy}/${inTree}`);
}

export interface CgroupPaths {
  /** The parent of all pods. */
  readonly allPods: string;
  /** The parent of the pods of one class; absent for Guaranteed. */
  readonly qos?: string;
  readonly pod: string;
}

/** From the root of the tree, without a slash at either end. */
export function cgroupPaths(pod: PodCgroup): CgroupPaths {
  const names = namesInTree(pod);
  const upTo = (fromEnd: number): string => names.slice(0, names.length - fromEnd).join("/");
  const depth = qosParts(pod.qos).length;
  return {
    allPods: upTo(depth + 1),
    ...(depth === 0 ? {} : { qos: upTo(depth) }),
    pod: upTo(0),
  };
}

function namesInTree(pod: PodCgroup): readonly string[] {
  switch (pod.driver) {
    case "cgroupfs":
      return cgroupfsParts(pod);
    case "systemd": {
      // A slice lies inside the slices that its name begins with.
      return nestedSlices(sliceParts(pod));
    }
  }
}

function nestedSlices(parts: readonly string[]): readonly string[] {
  return parts.map((_, at) => `${parts.slice(0, at + 1).join("-")}.slice`);
}

function partsOf(path: string): readonly string[] {
  return path.split("/").filter((part) => part !== "");
}

function cgroupfsParts({ cgroupRoot, qos, uid }: PodCgroup): readonly string[] {
  return [...partsOf(cgroupRoot), "kubepods", ...qosParts(qos), `pod${uid}`];
}

function sliceParts({ cgroupRoot, qos, uid }: PodCgroup): readonly string[] {
  const pod = `pod${uid.replaceAll("-", "_")}`;
  return [...rootSlices(cgroupRoot), "kubepods", ...qosParts(qos), pod];
}

function rootSlices(cgroupRoot: string): readonly string[] {
  const parts = partsOf(cgroupRoot);
  const last = parts.at(-1);
  // A slice's name already contains its whole path.
  if (last?.endsWith(".slice") === true) return last.slice(0, -".slice".length).split("-");
  return parts.map((part) => part.replaceAll("-", "_"));
}

// Guaranteed pods lie directly below kubepods.
function qosParts(qos: QosClass): readonly string[] {
  switch (qos) {
    case "Guaranteed":
      return [];
    case "Burstable":
      return ["burstable"];
    case "BestEffort":
      return ["besteffort"];
  }
}
