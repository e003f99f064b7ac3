// Performs: A directory that lives as long as its pod: on disk, in memory, or in huge pages. kubelet: emptydir

import type { Pod } from "../api/v1/pod.ts";
import { podLimits } from "../api/resource/pod-amounts.ts";
import { parseQuantity, wholeUnits } from "../api/resource/quantity.ts";
import type { EmptyDirVolume } from "../api/v1/volumes.ts";
import { AgentError } from "../lib/errors.ts";
import { hugePageBytes } from "./huge-pages.ts";
import { POD_DIRECTORY_MODE, type VolumeHost } from "./volume-directory.ts";
import { emptyDirsDirectory } from "./volume-paths.ts";

/** Any user of any container of the pod may write. */
const MODE = 0o777;
/** New files in it belong to the pod's group. */
const SETGID = 0o2000;

export interface EmptyDirHost extends VolumeHost {
  /** What all pods together may take of the memory; absent = a tmpfs without a limit gets the kernel's. */
  readonly memoryBytes?: number;
}

/** Its path. What is there already, and mounted, stays as it is. */
export function setUpEmptyDir(host: EmptyDirHost, volume: EmptyDirVolume, pod: Pod): string {
  const { medium, sizeLimit } = volume.emptyDir;
  const { fsGroup } = pod.spec.securityContext;
  const group = fsGroup === undefined ? {} : { group: fsGroup };
  const path = makeDirectory(host, { uid: pod.metadata.uid, name: volume.name, ...group });
  if (medium === "" || host.mounts.isMountPoint(path)) return path;
  const root = { mode: fsGroup === undefined ? MODE : MODE | SETGID, ...group };
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

interface EmptyDirectory {
  readonly uid: string;
  readonly name: string;
  /** Absent = root's. */
  readonly group?: number;
}

/** Under its own name it is finished: what a container does to it later stays. */
function makeDirectory({ files, stateDir }: EmptyDirHost, of: EmptyDirectory): string {
  const { uid, name, group } = of;
  const parent = emptyDirsDirectory(stateDir, uid);
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

/** The least of what is written, what the pod may take, and what all pods may. kubelet: calculateEmptyDirMemorySize */
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
    // For the kernel a tmpfs of size 0 is one without a limit, and so it is for Kubernetes.
  ].filter((size) => size > 0);
  return sizes.length === 0 ? {} : { sizeBytes: Math.min(...sizes) };
}

function bytesOf(milli: bigint): number {
  return Number(wholeUnits(milli));
}
