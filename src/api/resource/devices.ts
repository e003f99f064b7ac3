// Which devices of the node a container gets without being privileged: from the annotation `agent/devices`, and from its
// limits and requests.

import { parseQuantity } from "./quantity.ts";
import { compareText } from "../../lib/compare.ts";

export const DEVICES_ANNOTATION = "agent/devices";
const DEVICE_RESOURCE = "podman.io/device=";
const LETTERS = ["r", "w", "m"];
const DEFAULT_PERMISSIONS = "rwm";
const MAX_DEVICES = 20;
/** Bytes of a path. Linux: PATH_MAX */
const MAX_PATH = 4096;
/** An empty name, `.` or `..`, a blank or a control character. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const UNCLEAN = /\/\.{0,2}(?:\/|$)|[\0-\x1F\x7F\s]/;
const FORM =
  'must be a device such as "/dev/ttyUSB0", "/dev/i2c-1:/dev/i2c-0" or "/dev/x:/dev/y:rw"';
/** `vendor.com/class=name`, as CDI writes it. */
const CDI_NAME =
  /^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?\/[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?=[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$/;

export interface Device {
  /** `/dev/…`; may also be a directory of devices. */
  readonly hostPath: string;
  readonly containerPath: string;
  /** Of r, w and m, in that order. */
  readonly permissions: string;
}

export interface ContainerDevices {
  /** Each path of the container once, sorted by it. */
  readonly devices: readonly Device[];
  /** `vendor.com/class=name`, sorted. */
  readonly cdiNames: readonly string[];
}

interface DeviceError {
  /** The entry. */
  readonly value: string;
  readonly message: string;
}

interface Annotated {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
}
type Amounts = Readonly<Record<string, string | undefined>>;
interface Limited {
  readonly resources: { readonly limits: Amounts; readonly requests: Amounts };
}

/** Of an accepted pod: what cannot be read is passed over. A limit goes before the annotation where both claim a path. */
export function devicesOf(pod: Annotated, container: Limited): ContainerDevices {
  const { limits: limited, requests } = container.resources;
  // podman takes the devices of both, whatever their number.
  const named = Object.entries({ ...requests, ...limited }).flatMap(([resource, amount]) =>
    (parseQuantity(amount ?? "0") ?? 0n) > 0n ? [resource] : [],
  );
  const limits = named
    .filter((resource) => resource.startsWith(DEVICE_RESOURCE))
    .map((resource) => resource.slice(DEVICE_RESOURCE.length));
  const annotated = entriesOf(pod.metadata.annotations[DEVICES_ANNOTATION] ?? "");
  const byPath = new Map<string, Device>();
  for (const text of [...limits, ...annotated.slice(0, MAX_DEVICES)]) {
    const device = parseDevice(text);
    if (device === undefined || byPath.has(device.containerPath)) continue;
    byPath.set(device.containerPath, device);
  }
  const devices = [...byPath.values()].toSorted((a, b) =>
    compareText(a.containerPath, b.containerPath),
  );
  return { devices, cdiNames: named.filter(isCdiName).toSorted() };
}

/** Everything wrong with the text of the annotation. */
export function deviceErrors(text: string): readonly DeviceError[] {
  const entries = entriesOf(text);
  if (entries.length > MAX_DEVICES)
    return [
      {
        value: text,
        message: `must name at most ${MAX_DEVICES} devices; a directory stands for all that are in it`,
      },
    ];
  const claimed = new Set<string>();
  return entries.flatMap((value): readonly DeviceError[] => {
    const device = parseDevice(value);
    if (device === undefined) return [{ value, message: FORM }];
    if (claimed.has(device.containerPath))
      return [{ value, message: `${device.containerPath} stands here already; keep one of them` }];
    claimed.add(device.containerPath);
    return [];
  });
}

/** True for `podman.io/device=…`: the device as such, of which there is no number. */
export function isPodmanDevice(resource: string): boolean {
  return resource.startsWith(DEVICE_RESOURCE);
}

/** True for the key of a limit that asks for a device: `podman.io/device=…` or a CDI name. */
export function isDeviceResource(resource: string): boolean {
  return resource.startsWith(DEVICE_RESOURCE) || resource.includes("=");
}

/** What is wrong with such a key. */
export function deviceResourceError(resource: string): string | undefined {
  if (!resource.startsWith(DEVICE_RESOURCE))
    return isCdiName(resource) ? undefined : "must be a CDI device such as vendor.com/class=name";
  return parseDevice(resource.slice(DEVICE_RESOURCE.length)) === undefined ? FORM : undefined;
}

function isCdiName(resource: string): boolean {
  return !resource.startsWith(DEVICE_RESOURCE) && CDI_NAME.test(resource);
}

function entriesOf(text: string): readonly string[] {
  if (text.trim() === "") return [];
  return text.split(",").map((entry) => entry.trim());
}

/** `/dev/x[:/dev/y][:rwm]` */
function parseDevice(text: string): Device | undefined {
  // More parts than these are wrong, however many.
  const [hostPath = "", ...more] = text.split(":", 4);
  const containerPath = more[0]?.startsWith("/") === true ? more[0] : hostPath;
  const [permissions = DEFAULT_PERMISSIONS, ...rest] =
    more[0]?.startsWith("/") === true ? more.slice(1) : more;
  if (rest.length > 0 || !isDevicePath(hostPath) || !isInnerPath(containerPath)) return undefined;
  if (!/^[rwm]+$/.test(permissions)) return undefined;
  const given = LETTERS.filter((letter) => permissions.includes(letter));
  // A letter twice is a slip of the pen that may have been meant as another.
  return given.length === permissions.length
    ? { hostPath, containerPath, permissions: given.join("") }
    : undefined;
}

function isDevicePath(path: string): boolean {
  return path.startsWith("/dev/") && isInnerPath(path);
}

function isInnerPath(path: string): boolean {
  return path.length <= MAX_PATH && path.startsWith("/") && !UNCLEAN.test(path);
}
