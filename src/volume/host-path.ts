// Performs: hostPath volumes: checks the type, creates a missing file or directory where the type asks for it, and holds
// what a judged path leads to. kubelet: host_path checkType

import { allContainers, type Pod } from "../api/v1/pod.ts";
import type { HostPathVolume, HostPathType } from "../api/v1/volumes.ts";
import type { EntryKind, HeldPath } from "../host/bind-mount.ts";
import { AgentError } from "../lib/errors.ts";
import { unmountAll } from "./tear-down.ts";
import { heldPathsDirectory, makePodDirectory, type VolumeHost } from "./volume-paths.ts";

/** Why a pod may not use the path, found with all links followed; undefined = it may. */
export type JudgeHostPath = (written: string, resolved: string) => string | undefined;

export interface HostPathHost extends VolumeHost {
  /** Absent = paths are used as they are written, and the runtime follows their links, as with the kubelet. */
  readonly judge?: JudgeHostPath | undefined;
}

const CREATED_DIRECTORY_MODE = 0o755;
const CREATED_FILE_MODE = 0o644;

/**
 * Returns the path to mount. A path that is judged is held by a bind mount: what a process makes of it after it was judged
 * changes nothing of what the runtime mounts. Throws AgentError `FailedMount`, or `MountError`.
 */
export function setUpHostPath(host: HostPathHost, volume: HostPathVolume, pod: Pod): string {
  const { judge } = host;
  if (judge === undefined) return setUpAsWritten(host, volume);
  using held = holdJudged(host, volume, judge);
  const target = targetOf(host, volume, pod);
  bind(host, held, { target, volume, pod });
  return target;
}

/** Throws what `setUpHostPath` would; creates nothing. */
export function checkHostPath(host: HostPathHost, volume: HostPathVolume): void {
  const { judge } = host;
  if (judge === undefined) lookAsWritten(host, volume);
  else holdAllowed(host, volume, judge)[Symbol.dispose]();
}

/**
 * Resolves and judges the path again, right before a container mounts it: its entry may have been replaced since
 * `setUpHostPath`. Containers that run keep their mounts.
 */
export function renewHostPath(host: HostPathHost, volume: HostPathVolume, pod: Pod): void {
  const { judge } = host;
  if (judge === undefined) return;
  using held = holdJudged(host, volume, judge);
  const target = targetOf(host, volume, pod);
  if (!held.isBoundTo(target)) bind(host, held, { target, volume, pod });
}

function targetOf({ stateDir }: HostPathHost, { name }: HostPathVolume, pod: Pod): string {
  return `${heldPathsDirectory(stateDir, pod.metadata.uid)}/${name}`;
}

interface Binding {
  readonly target: string;
  readonly volume: HostPathVolume;
  readonly pod: Pod;
}

function bind(host: HostPathHost, held: HeldPath, { target, volume, pod }: Binding): void {
  const { uid } = pod.metadata;
  const parent = heldPathsDirectory(host.stateDir, uid);
  // The target itself is not looked at: the file system that is mounted there may hang.
  if (host.files.info(parent) === undefined) makePodDirectory(host, uid, parent);
  else unmountAll(host, target);
  held.bindTo(target, { shared: isBidirectional(pod, volume) });
}

/** Whether mounts that a container of the pod makes in the volume have to appear on the host. */
function isBidirectional({ spec }: Pod, { name }: HostPathVolume): boolean {
  const mounts = allContainers(spec).flatMap(({ volumeMounts }) => volumeMounts);
  return mounts.some((one) => one.name === name && one.mountPropagation === "Bidirectional");
}

/** What is there, created if it was missing. The caller disposes of it. */
function holdJudged(host: HostPathHost, volume: HostPathVolume, judge: JudgeHostPath): HeldPath {
  const { type } = volume.hostPath;
  const held = holdAllowed(host, volume, judge);
  try {
    const action = heldAction(held, type);
    if (action === "Use") return held;
    if (action === "CreateDirectory") held.createDirectory(CREATED_DIRECTORY_MODE);
    else held.createFile(CREATED_FILE_MODE);
    // Another process may have created an entry of another kind meanwhile.
    hostPathAction(held.path, type, held.found);
    return held;
  } catch (error) {
    held[Symbol.dispose]();
    throw error;
  }
}

/** Without a type the runtime would create a missing directory. */
function heldAction(held: HeldPath, type: HostPathType): HostPathAction {
  if (type === "" && held.found === undefined) return "CreateDirectory";
  return hostPathAction(held.path, type, held.found);
}

function holdAllowed(
  { mounts }: HostPathHost,
  { hostPath: { path, type } }: HostPathVolume,
  judge: JudgeHostPath,
): HeldPath {
  const held = mounts.hold(path);
  try {
    if (held.isBroken) return refuse(brokenLink(path));
    const why = judge(path, held.path);
    if (why !== undefined) return refuse(why);
    heldAction(held, type);
    return held;
  } catch (error) {
    held[Symbol.dispose]();
    throw error;
  }
}

function setUpAsWritten({ files }: HostPathHost, volume: HostPathVolume): string {
  const { path } = volume.hostPath;
  const action = lookAsWritten({ files }, volume);
  if (action === "Use") return path;
  const place = files.place(path);
  if (place === undefined) return refuse(brokenLink(path));
  if (action === "CreateDirectory") files.createDirectory(place, CREATED_DIRECTORY_MODE);
  else files.createFile(place, CREATED_FILE_MODE);
  // A process with write access may have created another entry, or a link, meanwhile.
  if (lookAsWritten({ files }, volume) === "Use") return path;
  return refuse(`${JSON.stringify(path)} was created and has disappeared again`);
}

function lookAsWritten(
  { files }: Pick<HostPathHost, "files">,
  { hostPath: { path, type } }: HostPathVolume,
): HostPathAction {
  // Without a type the path is not accessed: its file system may hang.
  // A broken link counts as an entry: creating the path would replace it.
  const info = type === "" ? undefined : (files.target(path) ?? files.info(path));
  return hostPathAction(path, type, info?.special ?? info?.kind);
}

function brokenLink(path: string): string {
  return `${JSON.stringify(path)} leads through a broken symbolic link; remove the link, or create its target`;
}

function refuse(message: string): never {
  throw new AgentError({ reason: "FailedMount", message });
}

type HostPathAction = "Use" | "CreateDirectory" | "CreateFile";

/**
 * `found`: the entry, with symlinks followed unless they are broken; undefined = none. Throws AgentError `FailedMount` for
 * an entry of another type.
 */
export function hostPathAction(
  path: string,
  type: HostPathType,
  found: EntryKind | undefined,
): HostPathAction {
  if (type === "") return "Use";
  const { kind, create } = WANTED[type];
  if (found === kind) return "Use";
  if (found === undefined && create !== undefined) return create;
  const is = found === undefined ? "it does not exist" : `it is ${WORDS[found]}`;
  return refuse(`hostPath type check failed: ${path} is not ${WORDS[kind]}: ${is}`);
}

interface WantedKind {
  readonly kind: EntryKind;
  readonly create?: HostPathAction;
}

const WORDS: Readonly<Record<EntryKind, string>> = {
  file: "a file",
  directory: "a directory",
  symlink: "a broken symbolic link",
  socket: "a socket",
  charDevice: "a character device",
  blockDevice: "a block device",
  other: "something else, e.g. a FIFO",
};

const WANTED: Readonly<Record<Exclude<HostPathType, "">, WantedKind>> = {
  DirectoryOrCreate: { kind: "directory", create: "CreateDirectory" },
  Directory: { kind: "directory" },
  FileOrCreate: { kind: "file", create: "CreateFile" },
  File: { kind: "file" },
  Socket: { kind: "socket" },
  CharDevice: { kind: "charDevice" },
  BlockDevice: { kind: "blockDevice" },
};
