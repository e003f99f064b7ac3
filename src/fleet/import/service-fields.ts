// Fields of a service that compose files and Quadlet units write alike.

import { isJsonObject, withoutUndefined } from "../../lib/json.ts";
import { byteQuantity, cpuQuantity, seconds } from "./quantities.ts";
import type { Remark, Service, ServiceMount, ServiceProbe, Tell } from "./service.ts";
import { plain, type Interpolated } from "./words.ts";

/** Adds to `remarks`. */
export function remarking(remarks: Remark[]): Tell {
  return (place, message, isError = false) =>
    void remarks.push({ place, message, ...(isError ? { isError } : {}) });
}

/** Where a value stands, and what to do with one that cannot be read. */
export interface FieldPlace {
  readonly field: string;
  readonly tell: Tell;
}

/** Names the keys of an object that are not among `known`. */
export function tellOthers(
  value: unknown,
  known: readonly string[],
  { field, tell }: FieldPlace,
): void {
  if (!isJsonObject(value)) return;
  const others = Object.keys(value).filter((key) => !known.includes(key) && !key.startsWith("x-"));
  if (others.length > 0) tell(field, `${others.join(", ")}: not known here, and left out`);
}

/** A truth value, also as text, as a variable gives it. */
export function flagOf(written: unknown, { field, tell }: FieldPlace): boolean {
  if (written === undefined || written === null || written === "") return false;
  const text = plain(written).toLowerCase();
  if (/^(?:true|yes|on|y|1)$/.test(text)) return true;
  if (!/^(?:false|no|off|n|0)$/.test(text)) tell(field, `${text} is neither true nor false`, true);
  return false;
}

/** As tmpfs is everywhere, or as an `emptyDir` cannot be. */
const TMPFS_PLAIN = /^(?:size=.*|rw|exec|nosuid|nodev|)$/;

/** `/run:size=16m,mode=1777` */
export function tmpfsMount(written: string, place: FieldPlace): ServiceMount {
  const [target = "", options = ""] = written.split(":");
  const others = options.split(",").filter((one) => !TMPFS_PLAIN.test(one));
  if (others.length > 0)
    place.tell(
      place.field,
      `${target}: ${others.join(", ")}: an emptyDir in memory has only a size`,
    );
  const size = sizeOf(/size=([^,]+)/.exec(options)?.[1], place);
  return {
    type: "empty",
    inMemory: true,
    target,
    isReadOnly: false,
    ...(size === undefined ? {} : { size }),
  };
}

/** Docker's /dev/shm has its own size; undefined = none is written. */
export function sharedMemory(written: unknown, place: FieldPlace): readonly ServiceMount[] {
  const size = sizeOf(written, place);
  if (size === undefined) return [];
  return [{ type: "empty", inMemory: true, target: "/dev/shm", isReadOnly: false, size }];
}

/** As a quantity. */
export function sizeOf(written: unknown, place: FieldPlace): string | undefined {
  return amountOf(written, byteQuantity, place);
}

/** undefined = nothing is written, or 0, which is no limit; an amount that cannot be read becomes a remark. */
function amountOf(
  written: unknown,
  read: (written: unknown) => string | undefined,
  { field, tell }: FieldPlace,
): string | undefined {
  const isNone = written === undefined || written === null || Number(written) === 0;
  if (isNone || Number(written) === -1) return undefined;
  const amount = read(written);
  if (amount === undefined) tell(field, `${plain(written)} is no amount, and was left out`);
  return amount;
}

/** Paths that an entry of a list of devices gives the container; CDI names stay. */
export function deviceOf(written: string, { field, tell }: FieldPlace): readonly string[] {
  if (/^\/|=/.test(written)) return [written];
  tell(field, `${written} is no path of a device`, true);
  return [];
}

/** Of a mount that both write after the second colon. */
const PLAIN_OPTIONS = ["", "rw", "ro", "cached", "delegated", "consistent"];

/** Names the options of a mount that mean nothing here. */
export function tellMountOptions(
  source: string,
  options: readonly string[],
  { field, tell }: FieldPlace,
): void {
  const labels: readonly string[] = options.filter((one) => one === "z" || one === "Z");
  if (labels.length > 0)
    tell(
      field,
      "z and Z: only SELinux needs them; label paths of the node for containers yourself",
    );
  const others = options.filter((one) => !PLAIN_OPTIONS.includes(one) && !labels.includes(one));
  if (others.length > 0)
    tell(field, `${source}: ${others.join(", ")}: not known here, and left out`);
}

/** `NET_ADMIN`, `cap_net_admin` */
export function capability(written: string): string {
  return written.toUpperCase().replace(/^CAP_/, "");
}

interface WrittenProbeTimes {
  readonly interval: unknown;
  readonly timeout: unknown;
  readonly retries: unknown;
}

/**
 * With Docker's defaults for what is undefined. Docker's start period only spares the service failures, which have no effect
 * here before it is ready: waiting for it would make those wait that depend on the service.
 */
export function probeTimes(
  { interval, timeout, retries }: WrittenProbeTimes,
  { field, tell }: FieldPlace,
): Omit<ServiceProbe, "command"> {
  const time = (written: unknown): number => {
    const read = seconds(written ?? DEFAULT_SECONDS);
    if (read === undefined) tell(field, `${plain(written)} is no time; it is ${DEFAULT_SECONDS} s`);
    return Math.max(1, read ?? DEFAULT_SECONDS);
  };
  const times = Number(retries ?? DEFAULT_RETRIES);
  const isCount = Number.isInteger(times) && times > 0;
  if (!isCount) tell(field, `${plain(retries)} is no number of retries; it is ${DEFAULT_RETRIES}`);
  return {
    periodSeconds: time(interval),
    timeoutSeconds: time(timeout),
    failureThreshold: isCount ? times : DEFAULT_RETRIES,
  };
}

const DEFAULT_SECONDS = 30;
const DEFAULT_RETRIES = 3;

/** Of processor and memory; an amount that cannot be read is left out with a remark. */
export function amounts(
  { cpus, memory }: Readonly<Record<string, unknown>>,
  place: FieldPlace,
): Readonly<Record<string, string>> {
  return {
    ...withoutUndefined({
      cpu: amountOf(cpus, cpuQuantity, place),
      memory: amountOf(memory, byteQuantity, place),
    }),
  };
}

export function gracePeriod(written: unknown, place: FieldPlace): Pick<Service, "graceSeconds"> {
  if (written === undefined) return {};
  const grace = seconds(written);
  if (grace === undefined)
    place.tell(place.field, `${plain(written)} is no time, and was left out`);
  return grace === undefined ? {} : { graceSeconds: Math.max(1, grace) };
}

/** Of a user or group; undefined = it is a name, which only the image knows. */
export function numericId(field: string, written: string, tell: Tell): number | undefined {
  if (/^\d+$/.test(written)) return Number(written);
  if (written === "root") return 0;
  tell(field, `${written} is a name of the image: write its number`);
  return undefined;
}

/** "" = the namespace is its own. */
export function hostPIDOf(written: string, { field, tell }: FieldPlace): boolean {
  if (written !== "" && written !== "host")
    tell(field, `${written} has no counterpart: write shareProcessNamespace into one pod`);
  return written === "host";
}

/** Of a file of variables: values that cannot be read, and names that neither the environment nor the file sets. */
export function envRemarks(
  place: string,
  { errors, unset }: Pick<Interpolated, "errors" | "unset">,
): readonly Remark[] {
  const missing =
    unset.length === 0 ? [] : [`${[...new Set(unset)].join(", ")}: not set, and empty`];
  return [
    ...errors.map((message) => ({ place, message, isError: true })),
    ...missing.map((message) => ({ place, message })),
  ];
}
