// Fields of a service that compose files and Quadlet units write alike.

import { byteQuantity, cpuQuantity, seconds } from "./quantities.ts";
import type { Remark, Service, ServiceMount, ServiceProbe, Tell } from "./service.ts";

/** Adds to `remarks`. */
export function remarking(remarks: Remark[]): Tell {
  return (place, message, isError = false) =>
    void remarks.push({ place, message, ...(isError ? { isError } : {}) });
}

/** `/run:size=16m,mode=1777` */
export function tmpfsMount(written: string): ServiceMount {
  const [target = "", options = ""] = written.split(":");
  const size = byteQuantity(/size=([^,]+)/.exec(options)?.[1]);
  return {
    type: "empty",
    inMemory: true,
    target,
    isReadOnly: false,
    ...(size === undefined ? {} : { size }),
  };
}

/** `NET_ADMIN`, `cap_net_admin` */
export function capability(written: string): string {
  return written.toUpperCase().replace(/^CAP_/, "");
}

interface WrittenProbeTimes {
  readonly interval: unknown;
  readonly timeout: unknown;
  readonly retries: unknown;
  readonly startPeriod: unknown;
}

/** With Docker's defaults for what is undefined. */
export function probeTimes({
  interval,
  timeout,
  retries,
  startPeriod,
}: WrittenProbeTimes): Omit<ServiceProbe, "command"> {
  return {
    periodSeconds: Math.max(1, seconds(interval ?? 30) ?? 30),
    timeoutSeconds: Math.max(1, seconds(timeout ?? 30) ?? 30),
    failureThreshold: Number(retries ?? 3) || 3,
    initialDelaySeconds: seconds(startPeriod ?? 0) ?? 0,
  };
}

/** Of processor and memory; what cannot be read is left out. */
export function amounts({
  cpus,
  memory,
}: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const [cpu, bytes] = [cpuQuantity(cpus), byteQuantity(memory)];
  return {
    ...(cpu === undefined ? {} : { cpu }),
    ...(bytes === undefined ? {} : { memory: bytes }),
  };
}

export function gracePeriod(written: unknown): Pick<Service, "graceSeconds"> {
  const grace = written === undefined ? undefined : seconds(written);
  return grace === undefined ? {} : { graceSeconds: Math.max(1, grace) };
}

/** Of a user or group; undefined = it is a name, which only the image knows. */
export function numericId(field: string, written: string, tell: Tell): number | undefined {
  if (/^\d+$/.test(written)) return Number(written);
  tell(field, `${written} is a name of the image: write its number`);
  return undefined;
}
