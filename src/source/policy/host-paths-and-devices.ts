// Which files and devices of the node pods of documents may use: those of `podPolicy.hostPaths` and `.devices`, all, or
// none; never the directories of the agent and of containerd.

import { DEVICES_ANNOTATION, isDeviceResource } from "../../api/resource/devices.ts";
import { formatPath, type FieldPath } from "../../api/decode/field-path.ts";
import { placedContainers, type PlacedContainer, type Pod } from "../../api/v1/pod.ts";
import { writtenIndex } from "../../api/decode/written-index.ts";
import type { FieldError } from "../../lib/result.ts";
import { firstOfEach } from "../../lib/compare.ts";
import type { AgentConfig } from "../../config/config.ts";

/** The listed ones, or by profile all or none. */
type Allowed = readonly string[] | "all" | "none";

const DEVICE_RESOURCE = "podman.io/device=";
/** One directory under two names, on every distribution. */
const ALIAS = { old: "/var/run", plain: "/run" };
/** Leads into the view of the file system of a process. */
const PROCESS = /^\/proc\/(?:self|thread-self|[0-9]+)(?:\/|$)/;
/** The remedy of every message about the profile baseline. */
export const BASELINE_REMEDY =
  "put the pod into a manifest file on the node if it needs it, or allow it there in mqtt.podPolicy";

/** `guarded`: directories that no pod may mount, nor anything above or in them. */
export function forbiddenHostPaths(
  { spec }: Pod,
  allowed: Allowed,
  guarded: readonly string[],
): readonly FieldError[] {
  return spec.volumes.flatMap((volume, index): readonly FieldError[] => {
    if (!("hostPath" in volume)) return [];
    const { path } = volume.hostPath;
    const why = hostPathError(path, allowed, guarded);
    if (why === undefined) return [];
    const message = `volume ${JSON.stringify(volume.name)}: ${why}`;
    return [forbidden(["spec", "volumes", writtenIndex(volume, index), "hostPath"], message)];
  });
}

function hostPathError(
  path: string,
  allowed: Allowed,
  guarded: readonly string[],
): string | undefined {
  const shown = JSON.stringify(path);
  const plain = plainPath(path);
  const touched = guarded.map(plainPath).find((own) => isBelow(own, plain) || isBelow(plain, own));
  if (touched !== undefined)
    return `${shown} reaches into ${touched}, which belongs to the node alone; choose a path outside of it`;
  if (PROCESS.test(plain))
    return `${shown} is the view of a process on the node's files; name the file itself`;
  if (allowed === "all") return undefined;
  if (allowed === "none")
    return `the node's files (${shown}) are not for pods of documents; use emptyDir, or ${BASELINE_REMEDY}`;
  if (allowed.some((entry) => isBelow(plain, plainPath(entry)))) return undefined;
  return `${shown} is not in the node's mqtt.podPolicy.hostPaths; use one of them, or add it there`;
}

/** A path of an accepted pod, and where it leads now with all links followed. */
export interface FoundHostPath {
  readonly written: string;
  readonly resolved: string;
}

export interface FoundReach {
  /** `mqtt.podPolicy.hostPaths`, resolved; absent = there is no list. */
  readonly list?: readonly string[];
  /** As written and resolved. */
  readonly guarded: readonly string[];
}

/**
 * Whether links lead an accepted pod to paths that it may not use. The written path was judged with the document and is
 * not judged again: the list counts only where links lead elsewhere, the guarded directories always.
 */
export function foundHostPathError(
  { written, resolved }: FoundHostPath,
  { list, guarded }: FoundReach,
): string | undefined {
  const isAsWritten = plainPath(resolved) === plainPath(written);
  const why = hostPathError(resolved, isAsWritten ? "all" : (list ?? "all"), guarded);
  if (why === undefined || isAsWritten) return why;
  const [shown, place] = [written, resolved].map((path) => JSON.stringify(path));
  return `${shown} leads through a symbolic link to ${place}: ${why}, or remove the link`;
}

/** Entries that are not below another entry: a pod could turn those below another into links. */
export function outermost(list: readonly string[]): readonly string[] {
  const plain = [...new Set(list.map(plainPath))];
  return plain.filter((one) => !plain.some((other) => other !== one && isBelow(one, other)));
}

export function forbiddenDevices(pod: Pod, allowed: Allowed): readonly FieldError[] {
  if (allowed === "all") return [];
  const errors = devicesNamed(pod).flatMap(({ path, device }): readonly FieldError[] => {
    if (allowed === "none")
      return [
        forbidden(path, `the node's devices are not for pods of documents; ${BASELINE_REMEDY}`),
      ];
    if (allowed.some((entry) => isDeviceIn(device, entry))) return [];
    const shown = JSON.stringify(device);
    const why = `${shown} is not in the node's mqtt.podPolicy.devices; use one of them, or add it there`;
    return [forbidden(path, why)];
  });
  return firstOfEach(errors, ({ path, message }) => JSON.stringify([path, message])).firsts;
}

interface NamedDevice {
  readonly path: FieldPath;
  /** A path below /dev, or a CDI name. */
  readonly device: string;
}

function devicesNamed({ metadata, spec }: Pod): readonly NamedDevice[] {
  const annotated = (metadata.annotations[DEVICES_ANNOTATION] ?? "").split(",");
  const path = ["metadata", "annotations", DEVICES_ANNOTATION];
  return [
    ...annotated
      .filter((text) => text.trim() !== "")
      .map((text) => ({ path, device: onNode(text) })),
    ...placedContainers(spec).flatMap(devicesOfOne),
  ];
}

function devicesOfOne({ container, path }: PlacedContainer): readonly NamedDevice[] {
  const { limits, requests } = container.resources;
  const inLimits = Object.keys(limits).map((name) => ["limits", name] as const);
  // A request repeats the limit where both are declared.
  const inRequests = Object.keys(requests)
    .filter((name) => limits[name] === undefined)
    .map((name) => ["requests", name] as const);
  return [...inLimits, ...inRequests]
    .filter(([, name]) => isDeviceResource(name))
    .map(([kind, name]) => ({
      path: [...path, "resources", kind, name],
      device: name.startsWith(DEVICE_RESOURCE) ? onNode(name.slice(DEVICE_RESOURCE.length)) : name,
    }));
}

/** The node's path: `/dev/x` of `/dev/x:/dev/y:rw`. */
function onNode(text: string): string {
  return text.trim().split(":")[0] ?? "";
}

/** An entry is a path with all below it, a CDI name, or a CDI class: `vendor.com/gpu` for `vendor.com/gpu=0`. */
function isDeviceIn(device: string, entry: string): boolean {
  if (device.startsWith("/"))
    return entry.startsWith("/") && isBelow(plainPath(device), plainPath(entry));
  return device === entry || device.startsWith(`${entry}=`);
}

/** Also true for the directory itself. */
function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`);
}

function plainPath(path: string): string {
  const steps: string[] = [];
  for (const step of path.split("/")) {
    if (step === "..") steps.pop();
    else if (step !== "" && step !== ".") steps.push(step);
  }
  const plain = `/${steps.join("/")}`;
  return isBelow(plain, ALIAS.old) ? ALIAS.plain + plain.slice(ALIAS.old.length) : plain;
}

function forbidden(path: FieldPath, message: string): FieldError {
  return { path: formatPath(path), code: "Forbidden", message };
}

/** What of the configuration decides about hostPaths. */
export interface HostPathConfig extends Pick<
  AgentConfig,
  "containerRuntimeEndpoint" | "socket" | "stateDir" | "staticPodPath" | "trustPath"
> {
  readonly provisioningPath?: string | undefined;
  readonly mqtt?:
    | { readonly podPolicy?: { readonly hostPaths?: readonly string[] | undefined } | undefined }
    | undefined;
}

/** Configuration, keys and certificates; sockets. */
const PLACES: readonly string[] = ["/etc/agent", "/run/agent"];
/** Where a card brings what the node takes over; its default places are guarded also when another one is configured. */
const PROVISIONING: readonly string[] = ["/boot/firmware/agent", "/boot/agent"];

/** Write access to these gives root on this node, or decides what runs here. */
export function guardedDirectories(config: HostPathConfig): readonly string[] {
  const { staticPodPath, stateDir, trustPath, socket, provisioningPath } = config;
  const { containerRuntimeEndpoint: endpoint } = config;
  const sockets = [socket, endpoint.replace(/^unix:\/\//, "")].filter((path) =>
    path.startsWith("/"),
  );
  const ofSockets = sockets.map(parentOf).filter((path) => !SHARED.includes(path));
  const provisioned = provisioningPath === undefined ? [] : [provisioningPath];
  const own = [staticPodPath, stateDir, trustPath, ...PLACES, ...PROVISIONING, ...provisioned];
  return [...new Set([...own, "/var/lib/containerd", "/run/containerd", ...ofSockets, ...sockets])];
}

/** Shared directories: a socket in one of them does not guard the whole directory. */
const SHARED: readonly string[] = ["/", "/run", "/var/run", "/tmp"];

function parentOf(path: string): string {
  return path.replace(/\/+[^/]*\/*$/, "") || "/";
}
