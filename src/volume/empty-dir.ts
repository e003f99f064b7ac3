// Performs: emptyDir volumes: a directory with the lifetime of its pod, on disk, in memory, or in huge pages. kubelet:
// emptydir

import { POD_DIRECTORY_MODE } from "../api/pod/pod-directory.ts";
import { type Pod, allContainers } from "../api/v1/pod.ts";
import { podLimits } from "../api/resource/pod-requests-limits.ts";
import { parseQuantity, wholeUnits } from "../api/resource/quantity.ts";
import type { EmptyDirVolume, EmptyDirMedium } from "../api/v1/volumes.ts";
import { AgentError } from "../lib/errors.ts";
import { type VolumeHost, emptyDirsDirectory } from "./volume-paths.ts";

/** Any user of any container of the pod may write. */
const MODE = 0o777;
/** New files in it belong to the pod's group. */
const SETGID = 0o2000;

export interface EmptyDirHost extends VolumeHost {
  /** Memory limit of all pods together; absent = a tmpfs without a limit gets the kernel's default. */
  readonly memoryBytes?: number;
}

/** Returns its path. An existing directory or mount is left unchanged. */
export function setUpEmptyDir(host: EmptyDirHost, volume: EmptyDirVolume, pod: Pod): string {
  const { medium, sizeLimit } = volume.emptyDir;
  const { fsGroup } = pod.spec.securityContext;
  const path = makeDirectory(host, volume, pod);
  if (medium === "" || host.mounts.isMountPoint(path)) return path;
  const root = fsGroup === undefined ? { mode: MODE } : { mode: MODE | SETGID, group: fsGroup };
  if (medium === "Memory") {
    host.mounts.tmpfs(path, { ...root, ...sizeOf(sizeLimit, pod, host.memoryBytes) });
    return path;
  }
  const pageBytes = hugePageBytes(medium, pod);
  if (typeof pageBytes === "string")
    throw new AgentError({ reason: "FailedMount", message: pageBytes });
  host.mounts.hugetlbfs(path, { ...root, pageBytes });
  return path;
}

/** A directory under its final name is complete: later changes by a container stay. */
function makeDirectory(
  { files, stateDir }: EmptyDirHost,
  { name }: EmptyDirVolume,
  { metadata, spec }: Pod,
): string {
  const group = spec.securityContext.fsGroup;
  const parent = emptyDirsDirectory(stateDir, metadata.uid);
  const path = `${parent}/${name}`;
  if (files.info(path)?.kind === "directory") return path;
  files.makeDirectory(parent, POD_DIRECTORY_MODE);
  const unfinished = `${parent}/.${name}.new`;
  files.makeDirectory(unfinished, MODE);
  files.setMode(unfinished, MODE);
  if (group !== undefined)
    files.shareTree(unfinished, { group, readOnly: false, unlessRootFits: false });
  files.rename(unfinished, path);
  return path;
}

/** The smallest of sizeLimit, the pod's memory limit, and the limit of all pods. kubelet: calculateEmptyDirMemorySize */
function sizeOf(
  written: string | undefined,
  { spec }: Pod,
  memoryBytes: number | undefined,
): { readonly sizeBytes?: number } {
  const limits = podLimits(spec);
  const sizes = [
    bytesOf(written === undefined ? 0n : (parseQuantity(written) ?? 0n)),
    bytesOf(limits.isDeclared("memory") ? (limits.amounts.get("memory") ?? 0n) : 0n),
    memoryBytes ?? 0,
    // Size 0 means no limit for the kernel's tmpfs, and for Kubernetes.
  ].filter((size) => size > 0);
  return sizes.length === 0 ? {} : { sizeBytes: Math.min(...sizes) };
}

function bytesOf(milli: bigint): number {
  return Number(wholeUnits(milli));
}

const RESOURCE = "hugepages-";

/** The page size in bytes, or why there is none. kubelet: getPageSizeMountOption */
export function hugePageBytes(medium: EmptyDirMedium, pod: Pod): number | string {
  const requested = requestedSizes(pod);
  const none = `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`;
  if (medium !== "HugePages") {
    const size = pageBytesOf(medium.slice("HugePages-".length));
    return size !== undefined && requested.has(size) ? size : none;
  }
  const [first, second] = requested;
  if (second !== undefined)
    return `medium: ${medium} can't be used if container requests multiple huge page sizes`;
  return first ?? none;
}

function requestedSizes(pod: Pod): ReadonlySet<number> {
  const lists = [pod.spec.resources, ...allContainers(pod.spec).map(({ resources }) => resources)];
  const names = lists.flatMap(({ requests }) => Object.keys(requests));
  const sizes = names
    .filter((name) => name.startsWith(RESOURCE))
    .map((name) => pageBytesOf(name.slice(RESOURCE.length)));
  return new Set(sizes.filter((size) => size !== undefined));
}

function pageBytesOf(quantity: string): number | undefined {
  const milli = parseQuantity(quantity);
  return milli === undefined || milli <= 0n ? undefined : Number(wholeUnits(milli));
}
